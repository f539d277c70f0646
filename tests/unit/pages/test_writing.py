"""A page is written whole, and in the place of nothing else."""

import os
from pathlib import Path

import pytest

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.pages.document import document
from fairseq_outlayers.pages.writing import check_output, write_page

PAGE = document("title", "", ["page.js"])


def test_a_page_takes_the_place_of_a_page(tmp_path):
    path = tmp_path / "page.html"
    write_page(path, PAGE)
    size = write_page(path, PAGE.replace("title", "other"))
    assert "<h1>other</h1>" in path.read_text()
    assert size == path.stat().st_size
    assert list(tmp_path.iterdir()) == [path]


def test_another_file_is_not_overwritten(tmp_path):
    path = tmp_path / "thesis.html"
    path.write_text("<html>years of work</html>")
    with pytest.raises(UserError, match=r"thesis.html: exists and is not a page of this command"):
        write_page(path, PAGE)
    assert path.read_text() == "<html>years of work</html>"


def test_what_is_no_regular_file_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="pipe: is not a regular file"):
        write_page(tmp_path / "pipe", PAGE)
    assert (tmp_path / "pipe").is_fifo()


def test_a_link_is_followed(tmp_path):
    (tmp_path / "link.html").symlink_to(tmp_path / "page.html")
    for title in ("one", "two"):
        write_page(tmp_path / "link.html", PAGE.replace("title", title))
        assert f"<h1>{title}</h1>" in (tmp_path / "page.html").read_text()
    assert (tmp_path / "link.html").is_symlink()


@pytest.mark.parametrize(
    ("name", "message"), [("no/page.html", "no folder .*no"), ("", "a folder")]
)
def test_a_place_where_nothing_can_be_written_is_named(tmp_path, name, message):
    with pytest.raises(UserError, match=message):
        write_page(tmp_path / name, PAGE)


def test_a_folder_that_is_not_writable_is_refused_before_anything_is_computed(
    tmp_path, monkeypatch
):
    """Also that of a page that a link leads to; a missing one counts as the folder above it."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "link.html").symlink_to(tmp_path / "pages" / "new" / "page.html")
    check_output(tmp_path / "link.html")
    monkeypatch.setattr(
        os, "access", lambda path, mode: not (Path(path).name == "pages" and mode & os.W_OK)
    )
    check_output(tmp_path / "page.html")
    for path in (tmp_path / "pages" / "page.html", tmp_path / "link.html"):
        with pytest.raises(UserError, match=rf"{path}: the folder .*pages.* is not writable"):
            check_output(path)


def test_half_a_character_does_not_lose_the_page(tmp_path):
    write_page(tmp_path / "page.html", PAGE.replace("title", "\ud800"))
    assert "<h1>?</h1>" in (tmp_path / "page.html").read_text()
