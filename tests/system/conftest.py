"""Data and models that tests of several files share: made once a session, by whichever worker."""

import fcntl
import os

import pytest

from tests.system import backwards, many_words, random_text


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """A function that gives the folder of a name, filled by the first who asks for it.

    The processes of pytest-xdist share folders: one makes what the others wait for.
    """
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent

    def folder_of(name, make):
        folder, done = root / name, root / f"{name}.done"
        with open(root / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                folder.mkdir()  # fails again where making it has failed before
                make(folder)
                done.touch()
        return folder

    return folder_of


@pytest.fixture(scope="session")
def backwards_data(once):
    """Texts, ``bin`` and ``lm`` of the toy translation."""
    return once("backwards", backwards.binarize)


@pytest.fixture(scope="session")
def staircase(once):
    """Binarized sentences of all different lengths."""
    return once("staircase", backwards.binarize_staircase) / "bin"


@pytest.fixture(scope="session")
def trained(once, backwards_data):
    """The checkpoint of a tied luong_lstm that writes backwards."""
    folder = once("trained", lambda folder: backwards.train_tied(backwards_data, folder))
    return folder / "checkpoint_last.pt"


@pytest.fixture(scope="session")
def many_words_data(once):
    """Binarized text of many words, of which a stretch uses some."""
    return once("many_words", many_words.binarize) / "bin"


@pytest.fixture(scope="session")
def random_data(once):
    """A small binarized corpus without meaning."""
    return once("random_text", random_text.make_data) / "bin"
