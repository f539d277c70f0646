"""A test set, two models that have not learned it, and the page that is made of them."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

from fairseq_outlayers.__main__ import main
from fairseq_outlayers.formats.dictionary import fingerprint
from tests.conftest import make_dictionary
from tests.unit.hub.conftest import save_checkpoint

EVIL = "<script>alert(1)</script>"
SOURCES = ["w1 w2 w3", f"w4 {EVIL} &amp; w5", "", "w0 w5 w6 w7 w8 w9", "w3 naïve \u2028 w3", "w10"]
REFERENCES = ["w3 w16 w1", f"w4 {EVIL}", "w5 w6", 'w9 w8 "> w2 w1', "w3 w3 </script>", "w15"]
VOID = {"meta", "link", "input", "img", "br"}


class Page(HTMLParser):
    """The elements of a page: ``(tag, attributes, text within)``; it must be well nested."""

    def __init__(self, text):
        super().__init__()
        self.text, self.elements, self.open = text, [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        element = [tag, dict(attributes), ""]
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.elements.append([tag, dict(attributes), ""])  # of SVG

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for element in self.open:
            element[2] += data

    def find(self, tag, **wanted):
        """All elements of a tag with these attributes."""
        return [
            (attributes, text)
            for name, attributes, text in self.elements
            if name == tag and all(attributes.get(k.strip("_")) == v for k, v in wanted.items())
        ]

    @property
    def data(self):
        ((_, text),) = self.find("script", id="data")
        return json.loads(text)


def write_candidates(folder, blocked=(16,)):
    """Three random translations of every source word; returns the path."""
    source, target = make_dictionary(13), make_dictionary(17)
    random = np.random.RandomState(1)
    rows = [
        [k for k in random.permutation(np.arange(4, 21))[:3] if k not in blocked] for _ in range(13)
    ]
    arrays = {
        "format": 1,
        "per_word": 3,
        "source_fingerprint": fingerprint(source),
        "target_fingerprint": fingerprint(target),
        "offsets": np.cumsum([0] * 5 + [len(row) for row in rows]),
        "targets": np.concatenate(rows).astype(np.int32),
        "blocked": np.array(blocked, dtype=np.int32),
    }
    np.savez(folder / "candidates.npz", **arrays)
    return str(folder / "candidates.npz")


def prefer_unknown(path, by):
    """Make a model write more unknown words."""
    state = torch.load(path, weights_only=False)
    state["model"]["decoder.output_projection.bias"][3] += by
    torch.save(state, path)
    return path


def command(folder, *more, models=2):
    """The options of ``inspect`` for models that are made in a folder."""
    (folder / "test.src").write_text("\n".join(SOURCES) + "\n", encoding="utf-8")
    (folder / "test.tgt").write_text("\n".join(REFERENCES) + "\n", encoding="utf-8")
    paths = [save_checkpoint(folder, "luong_lstm", seed) for seed in range(1, models + 1)]
    prefer_unknown(paths[-1], 2.0)
    page = str(folder / "page.html")
    texts = ["--source", str(folder / "test.src"), "--reference", str(folder / "test.tgt")]
    return ["inspect", "--path", *paths, *texts, "--output", page, "--max-len-b", "4", *more]


@pytest.fixture(scope="session")
def page_file(tmp_path_factory):
    """A page of two models with candidates and replaced words."""
    folder = tmp_path_factory.mktemp("inspect")
    candidates = ["--candidates", write_candidates(folder), "--candidate-frequent", "6"]
    more = [*candidates, "--candidate-per-word", "3", "--unk-replacement", "copy"]
    assert main(command(folder, *more)) == 0
    return folder / "page.html"


@pytest.fixture(scope="session")
def page(page_file):
    return Page(page_file.read_text(encoding="utf-8"))


def decoded(text, width):
    """The weights in percent that a page's text of attention stands for, target by target."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwx"
    weights = []
    for part in re.findall(r"\d+|[A-Za-x]", text):
        weights += [0] * int(part) if part.isdigit() else [2 * letters.index(part) + 2]
    return [weights[at : at + width] for at in range(0, len(weights), width)]
