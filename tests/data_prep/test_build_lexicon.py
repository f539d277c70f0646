"""Lexical tables: IBM Model 1 against a loop over its equations, and the imports."""

import math
from collections import defaultdict

import numpy as np
import pytest

from lib import ibm_model1 as module
from lib.ibm_model1 import Corpus, ibm_model1

import build_lexicon
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.lexicon import Lexicon, count_links, read_lexicon

SOURCE = ["the house", "the book", "", "a book the the book", "house", "a"]
TARGET = ["das haus", "das buch", "ja", "ein buch das", "", "ein ein haus"]


def naive_model1(iterations):
    """Brown et al. (1993), equations 17 and 18 with an empty word, in plain loops."""
    pairs = [
        (["", *source.split()], target.split())
        for source, target in zip(SOURCE, TARGET, strict=True)
    ]
    table = {(s, t): 1.0 for source, target in pairs for s in source for t in target}
    for _ in range(iterations):
        counts = defaultdict(float)
        for source, target in pairs:
            for t in target:
                total = sum(table[s, t] for s in source)
                for s in source:
                    counts[s, t] += table[s, t] / total
        totals = defaultdict(float)
        for (s, _), count in counts.items():
            totals[s] += count
        table = {(s, t): count / totals[s] for (s, t), count in counts.items()}
    return {pair: p for pair, p in table.items() if pair[0]}


def entries(lexicon):
    return {
        (lexicon.source_words[s], lexicon.target_words[t]): p
        for s, t, p in zip(lexicon.sources, lexicon.targets, lexicon.probabilities, strict=True)
    }


@pytest.mark.parametrize("block_pairs", [1, 9, 10**6])
@pytest.mark.parametrize("iterations", [1, 2, 7])
def test_ibm_model1_equals_em_in_loops(iterations, block_pairs, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_PAIRS", block_pairs)
    lexicon = ibm_model1(Corpus.read(SOURCE), Corpus.read(TARGET), iterations)
    assert entries(lexicon) == pytest.approx(naive_model1(iterations), rel=1e-12)


def block_sizes(source, target):
    return [len(keys) for keys, _ in module._pairs(source, target, len(source.words), 99)]


def test_a_long_sentence_pair_is_cut_into_blocks_between_its_target_tokens(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_PAIRS", 1000)
    line = " ".join(map(str, range(60)))
    source, target = Corpus.read(["a", line, "b"]), Corpus.read(["c", line, "d e"])
    # 61 pairs for each of 60 target tokens, so 16 tokens in a block.
    assert block_sizes(source, target) == [2, 976, 976, 976, 12 * 61, 4]


def test_a_source_sentence_longer_than_a_block_gives_one_target_token_at_a_time(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_PAIRS", 10)
    line = " ".join(map(str, range(60)))
    assert block_sizes(Corpus.read([line]), Corpus.read(["a b c"])) == [61, 61, 61]


@pytest.mark.parametrize("block_pairs", [10, 20, 10**6])
def test_sentence_pairs_that_fit_are_not_cut(block_pairs, monkeypatch):
    # Sums depend on the blocks in the last bits; so ordinary text always has the same blocks.
    monkeypatch.setattr(module, "BLOCK_PAIRS", block_pairs)
    expected = [0]
    for source, target in zip(SOURCE[:3], TARGET[:3], strict=True):
        pairs = (len(source.split()) + 1) * len(target.split())
        if expected[-1] + pairs > block_pairs:
            expected.append(0)
        expected[-1] += pairs
    assert block_sizes(Corpus.read(SOURCE[:3]), Corpus.read(TARGET[:3])) == expected


def test_the_table_of_a_long_sentence_pair_does_not_depend_on_the_blocks(monkeypatch):
    generator = np.random.default_rng(1)
    lines = [" ".join(map(str, generator.integers(0, 20, 80))) for _ in range(2)]
    source, target = Corpus.read(lines[:1]), Corpus.read(lines[1:])
    whole = ibm_model1(source, target, 4)
    monkeypatch.setattr(module, "BLOCK_PAIRS", 500)
    parts = ibm_model1(source, target, 4)
    np.testing.assert_array_equal(parts.sources, whole.sources)
    np.testing.assert_array_equal(parts.targets, whole.targets)
    np.testing.assert_allclose(parts.probabilities, whole.probabilities, rtol=1e-12)


def test_the_best_translations_come_first_and_no_more_than_asked_for():
    lexicon = Lexicon(
        ["a", "b"],
        ["x", "y", "z"],
        np.array([1, 0, 0, 0]),
        np.array([0, 2, 1, 0]),
        np.array([1.0, 0.5, 0.2, 0.3]),
    )
    assert list(entries(lexicon.best(2))) == [("a", "z"), ("a", "x"), ("b", "x")]
    assert list(entries(lexicon.best())) == [("a", "z"), ("a", "x"), ("a", "y"), ("b", "x")]


def test_links_are_counted_by_source_word(tmp_path):
    pairs = [("a b", "x y"), ("a", "z"), ("b a", "y x")]
    lexicon = count_links(pairs, ["0-0 1-1", "0-0", "1-1"], tmp_path)
    assert entries(lexicon) == {("a", "x"): 2 / 3, ("a", "z"): 1 / 3, ("b", "y"): 1.0}


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("0-2", "2: link 0-2 is outside the sentence of 1 source and 1 target"),
        ("1-0", "2: link 1-0 is outside the sentence"),
        ("0-1", "2: link 0-1 is outside the sentence"),
        ("0", "2: '0' is no"),
    ],
)
def test_a_bad_link_is_named_with_its_line(link, message, tmp_path):
    with pytest.raises(UserError, match=message):
        count_links([("a", "x"), ("b", "y")], ["0-0", link], tmp_path / "links")


def test_tables_of_fast_align_and_moses_hold_the_same_without_the_empty_word(tmp_path):
    (tmp_path / "fast").write_text(
        f"<eps>\tx\t-1\na\tx\t{math.log(0.75)}\na\ty\t{math.log(0.25)}\n"
    )
    (tmp_path / "lex").write_text("x NULL 0.3\nx a 0.75\ny a 0.25\n")
    fast, lex = (
        entries(read_lexicon(tmp_path / name, table_format))
        for name, table_format in (("fast", "fast_align"), ("lex", "lex"))
    )
    assert fast == pytest.approx(lex)
    assert lex == {("a", "x"): 0.75, ("a", "y"): 0.25}


def test_what_one_program_calls_the_empty_word_is_a_word_of_the_other(tmp_path):
    (tmp_path / "fast").write_text("NULL\tnix\t-0.5\n")
    (tmp_path / "lex").write_text("nix <eps> 0.5\n")
    assert set(entries(read_lexicon(tmp_path / "fast", "fast_align"))) == {("NULL", "nix")}
    assert set(entries(read_lexicon(tmp_path / "lex", "lex"))) == {("<eps>", "nix")}


def test_a_pair_may_not_come_twice(tmp_path):
    (tmp_path / "table").write_text("a\tx\t-1\na\ty\t-1\na\tx\t-2\n")
    with pytest.raises(UserError, match="table:3: 'a' and 'x' a second time; keep one line"):
        read_lexicon(tmp_path / "table", "fast_align")


@pytest.mark.parametrize(
    "line", ["a x", "a x 1.5", "a x 900", "a x nan", "a x -inf", "a b c d", ""]
)
def test_a_line_that_is_no_entry_is_refused(line, tmp_path):
    (tmp_path / "table").write_text(f"a\ty\t-1\n{line}\n")
    with pytest.raises(UserError, match=r"table:2: .* not a line of a fast_align table"):
        read_lexicon(tmp_path / "table", "fast_align")


def write_corpus(folder):
    (folder / "s").write_text("\n".join(SOURCE) + "\n")
    (folder / "t").write_text("\n".join(TARGET) + "\n")


def test_the_command_writes_a_table_that_it_can_read_again(tmp_path, command):
    write_corpus(tmp_path)
    corpus = ["--source", "s", "--target", "t"]
    done = command("build_lexicon", *corpus, "--output", "lexicon")
    assert done.returncode == 0, done.stderr
    assert entries(read_lexicon(tmp_path / "lexicon", "fast_align")) == pytest.approx(
        {pair: p for pair, p in naive_model1(5).items() if p > 0}, rel=1e-4
    )
    again = command("build_lexicon", "--table", "lexicon", "--output", "again")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again").read_bytes() == (tmp_path / "lexicon").read_bytes()


def test_alignments_are_imported(tmp_path, command):
    write_corpus(tmp_path)
    (tmp_path / "links").write_text("0-0 1-1\n0-0 1-1\n\n0-0 4-1\n\n0-0\n")
    done = command("build_lexicon", "--source", "s", "--target", "t", "--alignments", "links",
                   "--output", "lexicon", "--per-word", 1)  # fmt: skip
    assert done.returncode == 0, done.stderr
    best = dict(entries(read_lexicon(tmp_path / "lexicon", "fast_align")).keys())
    assert best == {"the": "das", "house": "haus", "book": "buch", "a": "ein"}


@pytest.mark.parametrize("side", ["s", "t"])
def test_alignments_of_a_text_with_other_white_space_are_refused(tmp_path, monkeypatch, side):
    monkeypatch.chdir(tmp_path)
    texts = {"s": "a  b\tc\na b c\n", "t": "x y\nx y z\n", "links": "1-0\n1-0\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    given = ["--source", "s", "--target", "t", "--output", "lexicon"]
    options = build_lexicon.parse_arguments([*given, "--alignments", "links"])
    assert entries(build_lexicon.build(options)) == {("b", "x"): 1.0}
    first, second = texts[side].splitlines()
    (tmp_path / side).write_text(f"{first}\n{second.replace(' ', chr(0xA0), 1)}\n")
    with pytest.raises(UserError, match=rf"^{side}:2: has U\+00A0, which divides words here"):
        build_lexicon.build(options)
    assert build_lexicon.build(build_lexicon.parse_arguments(given)).source_words


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "--source s --target t --table-format lex",
            "--table-format lex has no effect without --table",
        ),
        ("--table t --iterations 3", "--iterations 3 has no effect unless IBM Model 1"),
        (
            "--source s --target t --alignments a --iterations 5",
            "--iterations 5 has no effect unless",
        ),
        (
            "--source s --target t --aligner eflomal --iterations 5",
            "--iterations 5 has no effect unless",
        ),
        ("--table t --source s", "--source s has no effect beside --table"),
        ("--table t --target s", "--target s has no effect beside --table"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(given, message):
    with pytest.raises(UserError, match=message):
        build_lexicon.parse_arguments([*given.split(), "--output", "lexicon"])


def test_a_missing_eflomal_is_explained(tmp_path, command, one_error_line):
    write_corpus(tmp_path)
    done = command("build_lexicon", "--source", "s", "--target", "t", "--aligner", "eflomal",
                   "--output", "lexicon", env={"PATH": str(tmp_path)})  # fmt: skip
    assert "no program eflomal-align; pip install eflomal" in one_error_line(done)


def test_eflomal_is_called_and_its_links_are_counted(tmp_path, command):
    write_corpus(tmp_path)
    program = tmp_path / "eflomal-align"
    program.write_text(
        "#!/bin/sh\n"
        'test "$1 $3 $5" = "-s -t -f" || exit 3\n'
        r'printf "0-0 1-1\n\n\n\n\n\n" > "$6"' + "\n"
    )
    program.chmod(0o755)
    done = command("build_lexicon", "--source", "s", "--target", "t", "--aligner", "eflomal",
                   "--output", "lexicon", env={"PATH": f"{tmp_path}:/usr/bin:/bin"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "lexicon").read_text() == "the\tdas\t0\nhouse\thaus\t0\n"


def test_as_many_iterations_are_run_as_asked_for(tmp_path):
    for name, lines in (("s", SOURCE), ("t", TARGET)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    output = tmp_path / "one"
    corpus = ["--source", str(tmp_path / "s"), "--target", str(tmp_path / "t")]
    build_lexicon.main([*corpus, "--output", str(output), "--iterations", "1"])
    expected = {pair: p for pair, p in naive_model1(1).items() if p > 0}
    assert entries(read_lexicon(output, "fast_align")) == pytest.approx(expected, rel=1e-4)


def test_a_table_is_read_in_the_format_it_is_said_to_have(tmp_path):
    (tmp_path / "lex").write_text("haus house 0.25\n")  # P(haus | house), as Moses writes
    output = tmp_path / "out"
    build_lexicon.main(["--table", str(tmp_path / "lex"), "--table-format", "lex", "--output",
                        str(output)])  # fmt: skip
    assert entries(read_lexicon(output, "fast_align")) == pytest.approx(
        {("house", "haus"): 0.25}, rel=1e-4
    )


def test_an_entry_of_probability_zero_is_not_written(tmp_path):
    (tmp_path / "lex").write_text("haus house 0.25\nheim house 0.0000000\n")
    given = ["--table", str(tmp_path / "lex"), "--table-format", "lex"]
    build_lexicon.main([*given, "--output", str(tmp_path / "out")])
    assert set(entries(read_lexicon(tmp_path / "out", "fast_align"))) == {("house", "haus")}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (r'printf "0-0\n\n\n\n\n\n" > "$6"; echo no memory >&2; exit 4', "exit code 4: no memory"),
        ("exit 4", "exit code 4: no message"),
    ],
)
def test_an_eflomal_that_fails_is_one_line(script, said, tmp_path, command, one_error_line):
    write_corpus(tmp_path)
    program = tmp_path / "eflomal-align"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    given = ["--source", "s", "--target", "t", "--aligner", "eflomal", "--output", "lexicon"]
    done = command("build_lexicon", *given, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert f"--aligner eflomal: {said}" in one_error_line(done)
