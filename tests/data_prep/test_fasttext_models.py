"""fastText's own models: what gensim would never return from is refused."""

import gzip
import struct

import pytest

from fairseq_outlayers.errors import UserError

ARGUMENTS = struct.pack("<12id", 4, 5, 1, 1, 5, 1, 1, 2, 0, 3, 6, 100, 1e-4)
NEW = struct.pack("<2i", 793712314, 12)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (NEW + ARGUMENTS + struct.pack("<3i2q", 2, 2, 0, 9, -1) + b"one\0" + bytes(9) + b"tw",
         "ends within word 2"),
        (ARGUMENTS + struct.pack("<3iq", 1, 1, 0, 9) + b"one", "ends within word 1"),
        (NEW + ARGUMENTS + struct.pack("<3i2q", 2**31 - 1, 2, 0, 9, -1) + bytes(100),
         "ends within word"),
    ],
)  # fmt: skip
def test_a_model_that_ends_within_its_words_is_refused_at_once(data, message, tmp_path):
    pytest.importorskip("gensim", reason="the extra embed is not installed")
    from lib.vector_formats import FastTextVectors

    path = tmp_path / "model.bin"
    path.write_bytes(data)
    with pytest.raises(UserError, match=message):
        FastTextVectors(path)


@pytest.mark.parametrize("options", [(), ("--format", "fasttext")])
def test_a_compressed_model_is_refused_with_what_to_do(tmp_path, command, one_error_line, options):
    (tmp_path / "model.bin.gz").write_bytes(gzip.compress(NEW + ARGUMENTS))
    (tmp_path / "train").write_text("one\n")
    line = one_error_line(
        command("extract_embeddings", "--vectors", "model.bin.gz", "--train", "train",
                "--output", "out", *options)
    )  # fmt: skip
    assert "model.bin.gz: fastText's binary format is read only uncompressed: gunzip it" in line
