"""An output that cannot be written is named by its own path, and leaves nothing behind."""

import errno
from pathlib import Path

import pytest

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats import output_file
from fairseq_outlayers.formats.output_file import new_folder, write_together


@pytest.fixture
def refuse(monkeypatch):
    """A function after which files or folders with a part of a name cannot be created."""

    def refuse_names(part):
        def refusing(stock):
            def create(path, *more, **options):
                if part in Path(path).name and Path(path).parent.is_dir():
                    raise PermissionError(errno.EACCES, "Permission denied", str(path))
                return stock(path, *more, **options)

            return create

        monkeypatch.setattr(output_file, "open", refusing(open), raising=False)
        monkeypatch.setattr(Path, "mkdir", refusing(Path.mkdir))

    return refuse_names


@pytest.mark.parametrize("part", ["above", "below", ".partial"])
@pytest.mark.parametrize("write", [lambda path: write_together([path]), new_folder])
def test_an_output_that_cannot_be_created_is_named_and_no_folder_is_left(
    tmp_path, refuse, part, write
):
    path = tmp_path / "above" / "below" / "output"
    refuse(part)
    with pytest.raises(UserError) as raised, write(path):
        pass
    assert str(raised.value) == f"{path}: cannot be written: Permission denied"
    assert list(tmp_path.iterdir()) == []
