"""Strict reading, and groups of files that appear together or not at all."""

import os
from pathlib import Path

import pytest

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.output_file import write_together
from fairseq_outlayers.formats.text import count_lines, count_parallel_lines, read_lines


@pytest.fixture
def file(tmp_path):
    def write(data, name="text"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_lines_end_at_newline_only(file, character):
    text = f"one{character}two\nthree\n"
    assert list(read_lines(file(text.encode()))) == [f"one{character}two", "three"]


def test_windows_line_ends_and_byte_order_mark_are_dropped(file):
    data = b"\xef\xbb\xbfone\r\n\r\ntwo\r\n"
    assert list(read_lines(file(data))) == ["one", "", "two"]


def test_last_line_needs_no_newline(file):
    assert count_lines(file(b"one\ntwo")) == 2


def test_invalid_utf8_is_named_with_file_line_and_byte(file):
    path = file(b"one\ntw\xff\n")
    with pytest.raises(UserError, match=rf"^{path}:2: not UTF-8: byte 0xff at byte 3 of the line"):
        count_lines(path)


def test_different_line_counts_are_both_named(file):
    longer, shorter = file(b"1\n2\n3\n", "longer"), file(b"1\n2\n", "shorter")
    message = rf"^{shorter}:2: last of 2 lines, but {longer} has 3"
    with pytest.raises(UserError, match=message):
        count_parallel_lines([longer, shorter])


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_failure_while_writing_keeps_the_old_files(file, tmp_path, failure):
    old = [file(b"old a\n", "a"), file(b"old b\n", "b")]

    def fail_after_writing():
        with write_together([*old, tmp_path / "new/c"]) as outputs:
            for output in outputs:
                output.write_line("new")
            raise failure

    with pytest.raises(failure):
        fail_after_writing()
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {
        "a": b"old a\n",
        "b": b"old b\n",
    }


def test_no_output_appears_before_all_are_complete(tmp_path):
    paths = [tmp_path / "deep/er/a", tmp_path / "b"]
    with write_together(paths) as outputs:
        for output in outputs:
            output.write_line("text")
            output.file.flush()
        assert not any(path.exists() for path in paths)
    assert [path.read_text() for path in paths] == ["text\n", "text\n"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b", "deep"]


def test_second_output_that_cannot_be_written_leaves_nothing_of_the_first(tmp_path):
    (tmp_path / "folder").mkdir()
    message = "folder: exists and is not a regular file"
    with pytest.raises(UserError, match=message):
        write_together([tmp_path / "new/a", tmp_path / "folder"]).__enter__()
    assert os.listdir(tmp_path) == ["folder"]


def test_output_is_refused_when_it_is_an_input_by_another_name(file, tmp_path):
    source = file(b"precious\n")
    (tmp_path / "link").symlink_to(source)
    with pytest.raises(UserError, match="link: is also an input"):
        write_together([tmp_path / "link"], inputs=[source]).__enter__()
    assert source.read_bytes() == b"precious\n"


def test_device_is_never_replaced_by_a_file():
    with pytest.raises(UserError, match="/dev/null: exists and is not a regular file"):
        write_together([Path("/dev/null")]).__enter__()


def test_outputs_count_lines_and_tokens_and_obey_the_umask(tmp_path):
    previous = os.umask(0o027)
    try:
        with write_together([tmp_path / "a"]) as (output,):
            output.write_line("three words here")
            output.write_line("")
    finally:
        os.umask(previous)
    assert (output.lines, output.tokens) == (2, 3)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("line", ["one\ntwo", "one\rtwo"])
def test_line_end_inside_a_line_is_never_written(tmp_path, line):
    with (
        pytest.raises(ValueError, match="a:1: line end inside a line"),
        write_together([tmp_path / "a"]) as (output,),
    ):
        output.write_line(line)
    assert not list(tmp_path.iterdir())


def test_all_files_are_on_the_disk_before_any_gets_its_name(tmp_path, disk_calls):
    with write_together([tmp_path / "a", tmp_path / "b"]) as outputs:
        for output in outputs:
            output.write_line("x")
    assert disk_calls == ["fsync", "fsync", "replace", "replace"]
