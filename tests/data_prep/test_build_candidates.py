"""Candidate files: their content, coverage by sets of words, and what other programs read."""

import random

import numpy as np
import pytest

from lib.candidate_coverage import CoverageReport
from lib.candidate_files import RankedTranslations

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import DictionaryFile
from fairseq_outlayers.formats.lexicon import read_lexicon

LEXICON = "a\tx\t-0.1\na\ty\t-0.5\na\tz\t-0.3\nb\tz\t-0.2\nb\tw\t-0.1\nunseen\tx\t0\nc\tunseen\t0\n"
FILES = {
    "lexicon": LEXICON,
    "dict.s": "b 9\na 8\nc 1\n",
    "dict.t": "v 1\nw 5\nx 9\ny 5\nz 2\n",
    "dev.s": "a b\nc\nb b oov\n",
    "dev.t": "x y w\nv\nz oov\n",
}
ARGUMENTS = ["--lexicon", "lexicon"]
ARGUMENTS += ["--source-dictionary", "dict.s", "--target-dictionary", "dict.t"]


@pytest.fixture
def files(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def words_of(folder):
    return DictionaryFile.read(folder / "dict.s"), DictionaryFile.read(folder / "dict.t")


def rows(translations, source, target):
    return {
        word: [target.symbols[t] for t in translations.row(number)]
        for number, word in enumerate(source.symbols)
        if len(translations.row(number))
    }


@pytest.mark.parametrize(
    ("per_word", "blocked", "expected"),
    [
        (9, [], {"a": ["x", "z", "y"], "b": ["w", "z"]}),
        (1, [], {"a": ["x"], "b": ["w"]}),
        # A blocked word leaves its place to the next.
        (1, ["x"], {"a": ["z"], "b": ["w"]}),
    ],
)
def test_the_best_translations_that_the_dictionaries_know(per_word, blocked, expected, files):
    source, target = words_of(files)
    ids = np.array([target.symbols.index(word) for word in blocked], dtype=int)
    lexicon = read_lexicon(files / "lexicon", "fast_align")
    selected = RankedTranslations.select(lexicon, source, target, per_word, ids)
    assert rows(selected, source, target) == expected


def test_words_are_ordered_by_count_and_ties_by_place(files):
    _, target = words_of(files)
    assert [target.symbols[n] for n in target.by_frequency()] == ["x", "w", "y", "z", "v"]


def naive_coverage(pairs, table, frequent, blocked, choice, copied=()):
    """Sets of words, as the list of a sentence is defined.

    Args:
        copied: words that both dictionaries have.
    """
    top_k, per_word = choice
    common = [word for word in frequent if word not in blocked][: top_k - 2]
    tokens = covered = whole = size = 0
    for source, target in pairs:
        allowed = set(common)
        for word in source:
            best = sorted(table.get(word, {}).items(), key=lambda entry: -entry[1])
            allowed |= {t for t, _ in [e for e in best if e[0] not in blocked][:per_word]}
            allowed |= {word} & set(copied) - set(blocked)
        hits = sum(word in allowed for word in target)
        tokens, covered = tokens + len(target), covered + hits
        whole, size = whole + (hits == len(target)), size + len(allowed) + 2
    return covered / tokens, whole / len(pairs), size / len(pairs)


def test_coverage_equals_counting_with_sets(tmp_path):
    random.seed(3)
    sources, targets = [f"s{n}" for n in range(12)], [f"t{n}" for n in range(30)]
    table = {s: {t: random.random() for t in random.sample(targets, 6)} for s in sources[:-2]}
    counts = {t: 100 - n for n, t in enumerate(targets[:-3])}  # the last three are unknown
    lines = [f"{s}\t{t}\t{np.log(p):.17g}" for s, row in table.items() for t, p in row.items()]
    (tmp_path / "lexicon").write_text("\n".join(lines) + "\n")
    (tmp_path / "dict.s").write_text("".join(f"{s} 1\n" for s in sources[:-1]))
    (tmp_path / "dict.t").write_text("".join(f"{t} {n}\n" for t, n in counts.items()))
    pairs = [(random.choices(sources, k=4), random.choices(targets, k=5)) for _ in range(40)]
    pairs.append((sources[:1], targets[:1]))
    for row in table.values():
        for unknown in targets[-3:]:
            row.pop(unknown, None)
    source, target = words_of(tmp_path)
    blocked = [targets[1], targets[4]]
    ids = np.array([target.symbols.index(word) for word in blocked])
    lexicon = read_lexicon(tmp_path / "lexicon", "fast_align")
    choices = [(2, 0), (6, 0), (6, 1), (9, 3), (99, 6)]
    report = CoverageReport(
        RankedTranslations.select(lexicon, source, target, 6, ids), source, target, choices
    )
    for left, right in pairs:
        report.add(" ".join(left), " ".join(right))
    for row, choice in zip(report.rows(), choices, strict=True):
        expected = naive_coverage(pairs, table, list(counts), blocked, choice)
        assert row[2:] == pytest.approx(expected), choice


def test_coverage_with_copies_equals_counting_with_sets(tmp_path):
    random.seed(4)
    both = [f"w{n}" for n in range(12)]  # names and numbers; the dictionaries lack one each
    table = {s: {t: random.random() for t in random.sample(both[:-1], 3)} for s in both[1:8]}
    lines = [f"{s}\t{t}\t{np.log(p):.17g}" for s, row in table.items() for t, p in row.items()]
    (tmp_path / "lexicon").write_text("\n".join(lines) + "\n")
    (tmp_path / "dict.s").write_text("".join(f"{w} 1\n" for w in both[1:]))
    frequent = both[:-1]
    (tmp_path / "dict.t").write_text("".join(f"{w} {50 - n}\n" for n, w in enumerate(frequent)))
    pairs = [(random.choices(both, k=3), random.choices(both, k=4)) for _ in range(40)]
    source, target = words_of(tmp_path)
    blocked = [both[5]]
    lexicon = read_lexicon(tmp_path / "lexicon", "fast_align")
    ids = np.array([target.symbols.index(word) for word in blocked])
    choices = [(2, 0), (5, 0), (5, 2), (99, 3)]
    report = CoverageReport(
        RankedTranslations.select(lexicon, source, target, 3, ids), source, target, choices
    )
    for left, right in pairs:
        report.add(" ".join(left), " ".join(right))
    copied = both[1:-1]
    for row, choice in zip(report.rows(with_copies=True), choices, strict=True):
        expected = naive_coverage(pairs, table, frequent, blocked, choice, copied)
        assert row[2:] == pytest.approx(expected), choice
    for row, choice in zip(report.rows(), choices, strict=True):
        assert row[2:] == pytest.approx(naive_coverage(pairs, table, frequent, blocked, choice))


def test_the_table_says_what_copies_add(files, command):
    (files / "dict.s").write_text("b 9\na 8\nv 1\n")
    (files / "dev.s").write_text("a b\nv\nb b oov\n")
    done = command("build_candidates", *ARGUMENTS, "--output", "out.npz", "--dev-source", "dev.s",
                   "--dev-target", "dev.t", "--report-frequent", 3,
                   "--report-per-word", 0)  # fmt: skip
    assert done.returncode == 0, done.stderr
    # x of six tokens; with copies also v, which is then a sentence of candidates alone.
    assert "| 3 | 0 | 0.167 | 0.000 | 3 | 0.333 | 0.333 | 3 |" in done.stdout


def test_the_command_reports_coverage_and_writes_three_files(files, command):
    (files / "blocked").write_text("y\nnowhere\n")
    done = command("build_candidates", *ARGUMENTS, "--output", "out.npz", "--dev-source", "dev.s",
                   "--dev-target", "dev.t", "--report-frequent", 3, "--report-per-word", 0, 2,
                   "--marian", "lex.s2t", "--ctranslate2", "vmap.txt", "--frequent", 3,
                   "--block", "blocked")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "blocked 1 words; 1 are not in the dictionary" in done.stdout
    assert "1 source and 1 target words are not in the dictionaries" in done.stdout
    assert "| 3 | 0 | 0.167 | 0.000 | 3 |" in done.stdout
    assert "| 3 | 2 | 0.500 | 0.000 | 4 |" in done.stdout  # lists: x w z, x, x w z
    assert (files / "lex.s2t").read_text().split("\n")[:2] == ["w b 0.9048374", "z b 0.8187308"]
    # In the order of the dictionary; an empty source side means always.
    assert (files / "vmap.txt").read_text() == "\tx w z\nb\tw z\na\tx z\n"
    with np.load(files / "out.npz") as file:
        assert file["offsets"].tolist() == [0, 0, 0, 0, 0, 2, 4, 4]
        assert file["targets"].tolist() == [5, 8, 6, 8]
        assert file["blocked"].tolist() == [7]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dict.t": "x\n"}, "dict.t:1: 'x' is not WORD COUNT"),
        ({"dict.t": "q 1\n"}, "lexicon: no entry is in both dictionaries"),
        ({"lexicon": "a b\n"}, "lexicon:1: 'a b' is not a line of a fast_align table"),
        ({"dev.t": "x\n"}, "dev.t:1: last of 1 lines, but dev.s has 3"),
    ],
)
def test_bad_files_are_named_and_nothing_is_written(
    change, message, files, command, one_error_line
):
    for name, text in change.items():
        (files / name).write_text(text)
    done = command("build_candidates", *ARGUMENTS, "--output", "out.npz", "--dev-source", "dev.s",
                   "--dev-target", "dev.t")  # fmt: skip
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (files / "out.npz").exists()


@pytest.mark.parametrize(
    ("dictionary", "warning"),
    [("b 9\na 8\n", ""), ("b@@ 9\na 8\n", "dict.s has subword_nmt, lexicon whole words: build")],
)
def test_a_lexicon_of_words_beside_subword_units_is_warned_of(dictionary, warning, files, command):
    (files / "dict.s").write_text(dictionary)
    done = command("build_candidates", *ARGUMENTS, "--output", "out.npz")
    assert done.returncode == 0
    assert warning in done.stderr
    assert bool(done.stderr) == bool(warning)


def test_exchanged_dictionaries_are_refused_and_an_older_file_stays(files, command, one_error_line):
    (files / "dict.s").write_text("x 9\ny 5\na 1\n")
    (files / "dict.t").write_text("a 3\nb 2\nx 1\n")
    (files / "out.npz").write_text("older")
    message = one_error_line(command("build_candidates", *ARGUMENTS, "--output", "out.npz"))
    assert "dict.s and --target-dictionary dict.t know 2 words of lexicon, exchanged 4" in message
    assert (files / "out.npz").read_text() == "older"


def test_a_report_beyond_the_file_is_refused(files, command):
    done = command("build_candidates", *ARGUMENTS, "--output", "out.npz", "--per-word", 5,
                   "--dev-source", "dev.s", "--dev-target", "dev.t",
                   "--report-per-word", 10)  # fmt: skip
    assert "--report-per-word 10: the file holds 5 translations per word" in done.stderr


def test_the_usual_report_goes_as_far_as_the_file(files, command):
    done = command("build_candidates", *ARGUMENTS, "--output", "out.npz", "--per-word", 5,
                   "--dev-source", "dev.s", "--dev-target", "dev.t")  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ")[:2] for line in done.stdout.splitlines() if line.startswith("| ")]
    assert rows[1:] == [[f"| {k}", str(n)] for k in (1000, 2000, 4000) for n in (0, 1)]


@pytest.mark.parametrize("option", ["--frequent", "--report-frequent", "--report-per-word"])
def test_an_option_that_would_change_nothing_is_refused(option, files, command, one_error_line):
    done = command("build_candidates", *ARGUMENTS, "--output", "out.npz", option, 3)
    assert f"{option} 3 has no effect without --" in one_error_line(done)
    assert not (files / "out.npz").exists()


@pytest.mark.parametrize("frequent", [0, 1])
def test_a_report_of_lists_that_do_not_occur_is_refused(frequent, files, command, one_error_line):
    done = command("build_candidates", *ARGUMENTS, "--output", "out.npz", "--dev-source", "dev.s",
                   "--dev-target", "dev.t", "--report-frequent", 3, frequent)  # fmt: skip
    assert f"--report-frequent {frequent}: must be at least 2" in one_error_line(done)
    assert not (files / "out.npz").exists()


def test_a_dictionary_with_odd_lines_is_read_as_fairseq_reads_it(tmp_path):
    (tmp_path / "dict").write_text("a 3\nb c 2\n")
    assert DictionaryFile.read(tmp_path / "dict").symbols[4:] == ["a", "b c"]
    (tmp_path / "dict").write_text("")
    with pytest.raises(UserError, match="no words"):
        DictionaryFile.read(tmp_path / "dict")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--marian", "./out.npz"], "two of out.npz, out.npz are equal"),
        (["--block", "out.npz"], "out.npz: is also an input"),
        (["--dev-source", "dev.s", "--dev-target", "out.npz"], "out.npz: is also an input"),
    ],
)
def test_a_file_is_not_written_over_another_of_the_same_command(
    options, message, files, command, one_error_line
):
    before = "v\nw\nx\n"
    (files / "out.npz").write_text(before)
    done = command("build_candidates", *ARGUMENTS, "--output", "out.npz", *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert (files / "out.npz").read_text() == before


def test_the_file_says_how_many_translations_a_word_has_at_most(files, command):
    command("build_candidates", *ARGUMENTS, "--output", "out.npz", "--per-word", 1)
    file = np.load(files / "out.npz")
    assert file["per_word"] == 1
    assert np.diff(file["offsets"]).max() == 1


def test_of_equally_probable_translations_the_first_in_the_dictionary_is_kept(files):
    (files / "lexicon").write_text("a\ty\t-0.5\na\tx\t-0.5\n")
    source, target = words_of(files)
    lexicon, none = read_lexicon(files / "lexicon", "fast_align"), np.array([], dtype=int)
    selected = RankedTranslations.select(lexicon, source, target, 1, none)
    assert rows(selected, source, target) == {"a": ["x"]}
