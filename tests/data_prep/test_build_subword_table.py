"""Subword tables: the units are the word again, and what cannot be cut is said in one line."""

from pathlib import Path

import pytest

import build_subword_table
from fairseq_outlayers.errors import UserError

pytest.importorskip("morfessor")
pytest.importorskip("pyphen")

WORDS = ["walking", "talking", "walked", "talked", "well-known", "king", "größe", "N", "'s"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{word} {len(WORDS) - rank}\n" for rank, word in enumerate(WORDS)]
    Path("dict.en.txt").write_text("".join(lines), encoding="utf-8")
    return tmp_path


def build(units, *options, dictionary="dict.en.txt"):
    """The table as ``{word: units}``, in the order of the file."""
    build_subword_table.main([dictionary, "--units", units, *options])
    lines = Path(f"{units}.en.txt").read_text(encoding="utf-8").splitlines()
    return {word: parts.split(" ") for word, _, parts in (line.partition("\t") for line in lines)}


@pytest.mark.parametrize(
    "options",
    [["characters"], ["syllables", "--language", "en_US"], ["morphs"]],
    ids=lambda options: options[0],
)
def test_units_put_together_are_the_words_of_the_dictionary_in_its_order(folder, options):
    table = build(*options)
    assert list(table) == WORDS
    assert ["".join(parts) for parts in table.values()] == WORDS


def test_syllables_are_cut_at_the_positions_of_liangs_patterns_and_nowhere_else(folder):
    table = build("syllables", "--language", "en_US")
    assert table["walking"] == ["walk", "ing"]
    # The hyphen is a letter like any other: it neither vanishes nor makes an empty unit.
    assert table["well-known"] == ["well-", "known"]


@pytest.mark.parametrize(
    ("units", "option"), [("morphs", "--segmentations"), ("characters", "--also-words-of")]
)
def test_an_input_is_not_written_over(folder, units, option):
    path, text = Path(f"{units}.en.txt"), "1 walk + ing\n"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=f"{path}: is also an input"):
        build(units, option, str(path))
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("word", ["\u0130taliano", "\u0130TALIANO"])
def test_a_letter_that_is_two_in_lower_case_moves_no_border(folder, word):
    # Dotted capital I: "i" and a dot above it in lower case.
    Path("dict.en.txt").write_text(f"{word} 1\nitaliano 1\n", encoding="utf-8")
    table = build("syllables", "--language", "it_IT")
    assert list(map(len, table[word])) == list(map(len, table["italiano"])) == [3, 3, 2]


@pytest.mark.parametrize(
    "options",
    [["characters"], ["syllables", "--language", "en_US"], ["morphs"]],
    ids=lambda options: options[0],
)
def test_words_that_fill_a_dictionary_up_are_one_unit_and_change_nothing_else(
    folder, capsys, options
):
    alone = build(*options)
    said = capsys.readouterr().out.splitlines()[:-1]
    with open("dict.en.txt", "a") as file:
        file.write("madeupword0000 0\nmadeupword0001 0\n")
    filled = build(*options)
    made = {word: [word] for word in ("madeupword0000", "madeupword0001")}
    assert filled == alone | made
    assert capsys.readouterr().out.splitlines()[:-1] == said


def test_morfessor_finds_the_stems_and_endings_that_words_share(folder):
    stems = ["walk", "talk", "jump", "want", "call", "look", "play", "turn"]
    words = [stem + ending for stem in stems for ending in ("ed", "ing", "s", "")]
    Path("dict.en.txt").write_text("".join(f"{word} 1\n" for word in words))
    table = build("morphs")
    assert table["walking"] == ["walk", "ing"]
    assert table["jumped"] == ["jump", "ed"]


def test_training_twice_gives_the_same_bytes(folder):
    build("morphs", "--seed", "3")
    first = Path("morphs.en.txt").read_bytes()
    build("morphs", "--seed", "3")
    assert Path("morphs.en.txt").read_bytes() == first


@pytest.mark.parametrize("options", [["characters"], ["morphs", "--segmentations", "s"]])
def test_a_seed_is_for_training_alone(options, folder):
    with pytest.raises(UserError, match="--seed 3 has no effect unless Morfessor is trained"):
        build(*options, "--seed", "3")


def test_a_word_with_white_space_is_refused(folder):
    Path("dict.en.txt").write_text("a\u00a0b 3\nc 2\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"'a.*b' has white space"):
        build("characters")


def test_loaded_segmentations_are_used_instead_of_training(folder):
    lines = ["# by morfessor", *(f"1 {stem} + ing" for stem in ("walk", "talk"))]
    lines += [
        "3 walk + ed",
        "3 talk + ed",
        "1 k + ing",
        "1 N",
        "1 ' + s",
        "1 well-known",
        "2 größe",
    ]
    Path("segmentations").write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = build("morphs", "--segmentations", "segmentations")
    assert table["king"] == ["k", "ing"]


def test_words_that_a_sum_of_units_cannot_tell_apart_are_counted(folder, capsys):
    Path("dict.en.txt").write_text("dog 3\ngod 2\ncat 1\n")
    build("characters")
    said = capsys.readouterr().out
    assert "2 words have the same characters as another in another order" in said
    assert "dog and god" in said
    assert "3 words, 6 characters; a word has 3.00 on average" in said


def test_words_of_other_texts_follow_those_of_the_dictionary_and_train_nothing(folder):
    alone = build("morphs")
    Path("test.en").write_text("the king talks , <unk> talks walking\n", encoding="utf-8")
    table = build("morphs", "--also-words-of", "test.en")
    assert list(table) == [*WORDS, "the", "talks", ","]
    assert {word: table[word] for word in WORDS} == alone


@pytest.mark.parametrize("options", [[], ["--language", "klingon"]])
def test_an_unknown_language_is_refused_with_the_known_ones(folder, options):
    with pytest.raises(UserError, match=r"language.*needs one of: .*de_DE.*en_US.*ru_RU"):
        build("syllables", *options)
    assert not Path("syllables.en.txt").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("the 3\nhouse\n", r"dict.en.txt:2: 'house' is not WORD COUNT"),
        ("the many\n", r"dict.en.txt:1: 'the many' is not WORD COUNT"),
        ("", "dict.en.txt: no words; give a dict.txt"),
    ],
)
def test_a_file_that_is_no_dictionary_is_refused(folder, text, message):
    Path("dict.en.txt").write_text(text)
    with pytest.raises(UserError, match=message):
        build("characters")


@pytest.mark.parametrize("line", ["walk + ing", "2 walk +  + ing", "1 "])
def test_damaged_segmentations_are_refused(folder, line):
    Path("segmentations").write_text(f"# by morfessor\n{line}\n")
    with pytest.raises(UserError, match=r"segmentations:2: .* is not 'COUNT morph"):
        build("morphs", "--segmentations", "segmentations")


def test_the_command_says_an_unknown_language_in_one_line(folder, command):
    process = command(
        "build_subword_table", "dict.en.txt", "--units", "syllables", "--language", "klingon"
    )
    assert process.returncode == 2
    (line,) = process.stderr.splitlines()
    assert "--language klingon: no hyphenation patterns" in line
    assert "de_DE" in line


def test_the_command_prints_the_file_it_made(folder, command):
    process = command("build_subword_table", "dict.en.txt", "--units", "characters")
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines()[-1] == "wrote characters.en.txt (9 lines)"


def test_segmentations_of_morphs_are_not_ignored_for_other_units(folder, capsys):
    with pytest.raises(SystemExit):
        build("characters", "--segmentations", "segmentations")
    assert "--segmentations needs --units morphs, not characters" in capsys.readouterr().err


def test_the_seed_of_morfessor_is_that_of_the_option(folder, monkeypatch):
    pytest.importorskip("morfessor")
    seen = []
    monkeypatch.setattr("lib.word_units.random.seed", seen.append)
    build("morphs", "--seed", "3")
    build("morphs")
    assert seen == [3, 1]
