"""Downloading: only content with the right checksum is ever written, from wherever it comes."""

import gzip
import hashlib
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from lib.data_sets import DATA_SETS, RemoteFile

import download
from fairseq_outlayers.errors import UserError

MIRROR = Path(os.environ.get("OUTLAYERS_DATA") or "not set")
TEXTS = {"train.en": b"one two\nthree\n", "train.de": b"eins zwei\ndrei\n"}


@pytest.fixture
def server():
    """A web server on this machine: ``answers[path]`` is a list of (status, body) to give."""
    answers = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            queue = answers[self.path]
            status, body = queue.pop(0) if len(queue) > 1 else queue[0]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    httpd = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}", answers
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.fixture
def data_set(server, tmp_path, monkeypatch):
    """A data set of two files: one lies compressed at its public address, one plain."""
    url, answers = server
    names = {"train.en": "/train.en.gz", "train.de": "/train.de"}
    answers["/train.en.gz"] = [(200, gzip.compress(TEXTS["train.en"]))]
    answers["/train.de"] = [(200, TEXTS["train.de"])]
    files = [
        RemoteFile(name, url + path, f"set/{name}", hashlib.sha256(TEXTS[name]).hexdigest())
        for name, path in names.items()
    ]
    monkeypatch.setattr(download, "DATA_SETS", {"tiny": files})
    monkeypatch.setattr(download.time, "sleep", lambda seconds: None)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("OUTLAYERS_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    return answers


@pytest.fixture
def mirror(data_set, tmp_path):
    """A local mirror of the data set; the web server has nothing any more."""
    for path in data_set:
        data_set[path] = [(404, b"")]
    (tmp_path / "mirror/set").mkdir(parents=True)
    for name, text in TEXTS.items():
        (tmp_path / f"mirror/set/{name}.gz").write_bytes(gzip.compress(text))
    return tmp_path / "mirror"


def fetch(*options):
    download.main(["tiny", "--out", "out", *map(str, options)])


def written():
    return {path.name: path.read_bytes() for path in Path("out").iterdir()}


def test_compressed_and_plain_files_are_downloaded_as_text(data_set, capsys):
    fetch()
    assert written() == TEXTS
    expected = "wrote 2 files of tiny to out (4 lines, 6 tokens; 0 existed)\n"
    assert capsys.readouterr().out == expected


def test_mirror_is_read_instead_of_the_public_address(mirror):
    fetch("--from", mirror)
    assert written() == TEXTS


def test_environment_names_the_mirror_unless_the_command_line_does(mirror, monkeypatch):
    monkeypatch.setenv("OUTLAYERS_DATA", str(mirror))
    fetch()
    assert written() == TEXTS
    (Path("out") / "train.en").unlink()
    with pytest.raises(UserError, match=r"elsewhere/set/train.en.gz: no such file in the mirror"):
        fetch("--from", "elsewhere")


def test_mirror_may_hold_plain_files(mirror):
    for name, text in TEXTS.items():
        (mirror / f"set/{name}.gz").unlink()
        (mirror / f"set/{name}").write_bytes(text)
    fetch("--from", mirror)
    assert written() == TEXTS


def test_files_with_the_right_content_are_not_fetched_again(data_set, capsys):
    fetch()
    for path in data_set:
        data_set[path] = [(404, b"")]
    fetch()
    assert written() == TEXTS
    assert "wrote 0 files of tiny to out (0 lines, 0 tokens; 2 existed)" in capsys.readouterr().out


def test_file_with_other_content_is_fetched_again(data_set):
    fetch()
    Path("out/train.de").write_bytes(b"cut sho")
    fetch()
    assert written() == TEXTS


TRUNCATED = gzip.compress(TEXTS["train.de"])[:-9]
CORRUPTIONS = {
    "other text": (gzip.compress(b"other\n"), r"SHA-256 .* is 7e4fa2eb.*expected 2072c7cd"),
    "truncated": (TRUNCATED, "damaged gzip file"),
    "not gzip": (b"<html>", "damaged gzip file: Not a gzipped file"),
    "empty": (b"", r"SHA-256 .* is e3b0c442"),
}


@pytest.mark.parametrize(("data", "message"), CORRUPTIONS.values(), ids=CORRUPTIONS)
def test_corrupted_mirror_file_is_refused_and_nothing_is_written(mirror, data, message):
    (mirror / "set/train.de.gz").write_bytes(data)  # the second file: the first one is good
    with pytest.raises(UserError, match=rf"mirror/set/train.de.gz: {message}"):
        fetch("--from", mirror)
    assert not Path("out").exists()


def test_corrupted_mirror_keeps_the_files_of_an_earlier_run(mirror):
    fetch("--from", mirror)
    Path("out/train.en").write_bytes(b"edited by hand\n")
    (mirror / "set/train.en.gz").write_bytes(gzip.compress(b"other\n"))
    with pytest.raises(UserError, match="SHA-256"):
        fetch("--from", mirror)
    assert written() == {"train.en": b"edited by hand\n", "train.de": TEXTS["train.de"]}


def test_login_page_in_place_of_a_file_is_refused(data_set):
    data_set["/train.de"] = [(200, b"<html>please log in</html>")]
    with pytest.raises(UserError, match=r"/train.de: SHA-256 of the decompressed content is"):
        fetch()
    assert not Path("out").exists()


def test_download_is_tried_again_after_a_server_error(data_set):
    data_set["/train.de"] = [(503, b""), (500, b""), (200, TEXTS["train.de"])]
    fetch()
    assert written() == TEXTS


def test_download_gives_up_after_three_attempts_with_the_reason(data_set):
    data_set["/train.de"] = [(503, b""), (503, b""), (503, b""), (200, TEXTS["train.de"])]
    message = r"/train.de: download failed after attempt 3: HTTP status 503 .*--from DIR"
    with pytest.raises(UserError, match=message):
        fetch()
    assert not Path("out").exists()


def test_missing_address_is_not_tried_again(data_set):
    data_set["/train.de"] = [(404, b""), (200, TEXTS["train.de"])]
    with pytest.raises(UserError, match="after attempt 1: HTTP status 404"):
        fetch()


def test_unreachable_server_is_told_in_one_line(command, contents, one_error_line):
    environment = {"https_proxy": "http://127.0.0.1:1", "no_proxy": ""}
    line = one_error_line(command("download", "ptb", "--out", "out", env=environment))
    assert "ptb.train.txt: download failed after attempt 3: " in line
    assert contents() == {}


def test_corrupted_mirror_of_a_real_data_set_is_refused(tmp_path, command, one_error_line):
    (tmp_path / "mirror/ptb").mkdir(parents=True)
    for split in ("train", "valid", "test"):
        (tmp_path / f"mirror/ptb/ptb.{split}.txt.gz").write_bytes(gzip.compress(b"no such text\n"))
    line = one_error_line(command("download", "ptb", "--out", "out", "--from", "mirror"))
    assert "mirror/ptb/ptb.train.txt.gz: SHA-256" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not MIRROR.is_dir(), reason="OUTLAYERS_DATA names no mirror")
@pytest.mark.parametrize(("name", "count"), [("multi30k", 12), ("multi30k-mono", 10), ("ptb", 3)])
def test_every_file_of_the_real_data_sets_matches_its_checksum(name, count, tmp_path):
    download.main([name, "--out", str(tmp_path), "--from", str(MIRROR)])
    assert {path.name for path in tmp_path.iterdir()} == {file.name for file in DATA_SETS[name]}
    assert len(DATA_SETS[name]) == count
