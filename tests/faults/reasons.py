"""Why a bad input must be refused: what the printed line has to name."""

import re
import shlex
from collections import Counter
from pathlib import Path

from tests.faults import world
from tests.faults.bad_inputs import PREPROCESS, Case

GOOD_LINES = (
    world.TRAIN,
    world.TRAIN_LM,
    world.GENERATE,
    world.INTERACTIVE,
    world.VALIDATE,
    world.EVAL_LM,
    PREPROCESS,
)
OTHER_DICTIONARY = "was trained with another {} dictionary"
SWAPPED = OTHER_DICTIONARY.format("source") + ".*--source-lang and --target-lang exchanged"
NO_SENTENCE = "no sentence is left: all are longer than --max-source-positions"
NOT_THERE = "^error: {}: no such "
NO_TEXT = "^error: bin: no binarized text named {}: "
WRONG_WORDS = "^error: train.xx: the dictionary has none of its first .* words"
# Patterns of lines, for cases in which a file or an option would not tell the reason.
SAYS = {
    "train, data folders of other dictionaries": "^error: ext/dict.xx.txt: another dictionary than",
    "train, resumed within an epoch with a smaller batch": "other batches .another --max-tokens",
    "train, adaptive loss with the usual wrapper": "needs --ddp-backend legacy_ddp",
    **{
        f"checkpoint has one parameter {more}, {reader}": f"{said} key.s. in state_dict: "
        for more, said in (("less", "Missing"), ("more", "Unexpected"))
        for reader in ("generate", "interactive", "validate")
    },
    **{
        f"command {name} without arguments": f" {name}: error: the following .* required: .*{first}"
        for name, first in {
            "neighbours": "CHECKPOINT, --words",
            "principal-components": "CHECKPOINT",
            "transform-gates": "CHECKPOINT",
            "unseen-words": "--descriptions",
        }.items()
    },
    **{
        f"checkpoint with {name}, {reader}": f"^error: model.pt: .*{said}"
        for name, said in {
            "options that are a text": "no options of the task",
            "no options of the task": "no options of the task",
            "no options of the model": "no options of the model",
            "an optimizer that is a text": "last_optimizer_state.* is a str",
            "an epoch that is a text": "'epoch' is 'x'",
            "a negative number of batches": "'iterations_in_epoch' is '-1'",
            "nan updates": "'num_updates' is 'nan'",
            "updates that are a text": "'num_updates' is 'x'",
        }.items()
        for reader in ("generate", "validate", "resume")
    },
    **{
        f"checkpoint with {name}, {reader}": f"^error: model.pt: .*{said}"
        for name, said in {
            "an unknown model": "model is 'no_such'",
            "a size that is a text": "embed_dim: Value 'many'",
            "weights that are no numbers": "output_projection.weight has values .*NaN",
            "an infinite weight": "output_projection.weight has infinite values",
        }.items()
        for reader in ("generate", "validate")
    },
    **{
        f"checkpoint with two fingerprints of a dictionary, {reader}": "the checkpoint is damaged: "
        r"decoder.target_dictionary_version has shape \(2,\)"
        for reader in ("generate", "validate")
    },
    "checkpoint with an unknown task, validate": "^error: model.pt: its task is 'no_such'",
    "checkpoint with an optimizer of another shape, resume": r"exp_avg of \(3,\) for a param",
    "checkpoint with an optimizer of no parameters, resume": "optimizer's state .*param_groups",
    "checkpoint with an optimizer of fewer parameters, resume": "optimizer's state .* size",
    "resumed on less than was trained on": "other batches .*text.* --reset-dataloader",
    "generate, no sentence left": NO_SENTENCE,
    "validate, no sentence left": NO_SENTENCE,
    "train, --save-dir /proc/outlayers, which nobody can write": "--save-dir /proc/outlayers: ",
    "train, --save-dir /sys/outlayers, which nobody can write": "--save-dir /sys/outlayers: ",
    "resumed with another criterion": "with another Criterion .FullSoftmax.*now CrossEntropy",
    "resumed with another optimizer": "with another Optimizer .FairseqAdam; now SGD",
    "resumed with another size": "model.pt contains another model.* size mismatch for encoder",
    "a language model to translate with": "is a language model, but the --task is translation",
    "a translation model as language model": "translation model, but .* needs a language model",
    "validate without a task": "needs --task",
    "target dictionary edited, two words less, train": "word id 15, but the dictionary .* only 14",
    "target dictionary edited, two words less, generate": "16 symbols in training, 14 given",
    "test.xx-yy.xx.bin missing": NO_TEXT.format("test"),
    "test.xx-yy.xx.idx missing": NO_TEXT.format("test"),
    "language model's data to translate": "no train.XX-YY.*a language model needs another --task",
    "preprocess with a dictionary that is none": "^error: words.bin: not UTF-8 text",
    "preprocess without a text": "--trainpref or --srcdict is missing",
    "train --no-such-option 1": "unrecognized arguments: --no-such-option 1$",
    "train --max-tokens 1": "all are longer than --max-tokens",
    "generate --path nowhere.pt": NOT_THERE.format("nowhere.pt"),
    "generate --path bin": "^error: bin: is a folder",
    "generate of languages that are not there": NOT_THERE.format("bin/dict.no.txt"),
    "sampled softmax --num-sampled 3 --sampler proposal --proposal-file nowhere": NOT_THERE.format(
        "--proposal-file nowhere"
    ),
    "sampled softmax ": "needs either --num-sampled or --sample-share",
    "all sentences longer than --max-tokens": "all are longer than --max-tokens",
    "no size of batches": "give --max-tokens or --batch-size",
    "--source-text missing": NOT_THERE.format("source"),
    "--unk-dictionary missing": "--unk-dictionary nowhere: no such file",
    "table of another dictionary": "^error: table.npy: belongs to another dictionary",
    "table of units missing": NOT_THERE.format("lm/morphs.txt")[:-1] + " file, so the morphs",
    "train, resumed with sides swapped": SWAPPED,
    "train, log file in no folder": "nowhere/log: no such file or folder",
    "train, TensorBoard into a file": "^error: codes/train: Not a directory",
    "train, fine-tuned from a text": "^error: train.xx is damaged, or not a checkpoint",
    "train, another kind of data": NO_TEXT.format("train"),
    "train, a padding of a flag": "unrecognized arguments: maybe$",
    "train, a vector file for a table": NOT_THERE.format("words.vec.json"),
    "train, partitions without their criterion": "--partition-size is an option of --task",
    "train, samples without a sampler": "--num-sampled is an option of --criterion sampled",
    "train, an option with a typing error": "instead of --dorpout, did you mean --dropout",
    "train, an architecture of language models": "--arch is a language model, but the --task",
    "train, an argument too many": "unrecognized arguments: bin2$",
    "train, validation data missing": NO_TEXT.format("valid"),
    "train, a word of 20,001 units": "^error: the word .yy0.* has 20,001 morphs",
    "train, no optimizer": "--optimizer is missing",
    "train, candidates without translations": "--candidates candidates.npz has no .* --eval-bleu",
    "train a Transformer, shared embeddings of two dictionaries": "requires a joined",
    "train a Transformer, sentences longer than positions": "longer than .*--max-source-positions",
    "train a Transformer, embeddings from a file that is not there": NOT_THERE.format("nowhere"),
    "generate, sides swapped": SWAPPED,
    "generate, two models and one is not there": NOT_THERE.format("nowhere.pt"),
    "generate, two models with a comma": NOT_THERE.format("model.pt,model.pt"),
    "generate, a translation and a language model": "is a language model, but the --task",
    "generate, an empty path": "^error: (--path )?: no such checkpoint",
    "generate, candidates without their task": "--candidates is an option of --task",
    "generate, a results folder that is a file": "^error: codes: File exists",
    "generate, results below a file": "^error: codes/here: Not a directory",
    "generate, a language model that is not there": NOT_THERE.format("nowhere.pt"),
    "generate, a segmentation by a folder": "can't open 'bin'.* Is a directory",
    "generate, diverse beams that do not divide": "requires --beam to be divisible by",
    "generate, samples of one hypothesis": "--sampling requires --nbest to be equal to --beam",
    "generate, a source text without its task": "--source-text is an option of --task",
    "generate, the target's dictionary is the source's": OTHER_DICTIONARY.format("target"),
    "generate, the dictionary in another order": "16 symbols, but not .* in the same order",
    "generate, candidates where a lexicon belongs": "--unk-dictionary candidates.npz:1: not UTF-8",
    "generate, a lexicon where candidates belong": "--candidates lexicon: not a candidate file",
    "generate, candidates of a folder": "--candidates bin: Is a directory",
    "generate, a score that needs a package": "needs a Python package .* editdistance",
    "interactive, text that is not there": NOT_THERE.format("nowhere"),
    "interactive, text that is a folder": "^error: bin: Is a directory",
    "interactive, text in Latin 1": "is not UTF-8 .* byte 0xfc",
    "interactive, text in UTF-16": "is not UTF-8 .* byte 0xff",
    "interactive, sides swapped": SWAPPED,
    "validate, candidates": "--candidates candidates.npz has no .* trained with --task translation",
    "validate, sides swapped": SWAPPED,
    "validate, no checkpoint": "no checkpoint: give its path as --path",
    "preprocess, no languages": "^error: train: No such file.*check the .* languages",
    "preprocess, a folder as dictionary": "^error: bin: Is a directory; a dictionary is",
    "preprocess, a text as dictionary": "^error: train.xx: 'xx.* has no count",
    "preprocess, a dictionary not there": NOT_THERE.format("nowhere"),
    "preprocess, the other side's dictionary": WRONG_WORDS,
    "preprocess, a validation text not there": "^error: nowhere.xx: No such file",
    "preprocess, a threshold above every word": WRONG_WORDS,
    "preprocess, a byte order mark": "^error: train.xx: begins with a byte order mark",
    "preprocess, only empty lines": "^error: train.xx: has no words, only empty lines",
    "neighbours in a folder without dictionaries": "^error: new.* has no dictionaries",
    "neighbours with the wrong dictionaries": OTHER_DICTIONARY.format("source"),
    "bins of texts out of step": "test.yy:9: last of 9 lines, but train.yy has 80",
    "bins of a text not there": NOT_THERE.format("nowhere"),
    "open vocabulary of a translation model": "open-vocabulary needs a language model",
    "open vocabulary of a text not there": NOT_THERE.format("nowhere"),
    "unseen words of a layer with rows": "has trained parameters for every class",
    "partitions of a folder not there": NOT_THERE.format("nowhere"),
    "partitions of a text": "^error: train.xx: Not a directory",
    "correction of a model without partitions": "was not trained with --partition-size",
    "an LSTM for CTranslate2": "--to ctranslate2 supports only Transformers",
    "an export over a file": "^error: codes exists: name another --output",
    "a page of texts out of step": "test.xx:9: last of 9 lines, but train.yy has 80",
    "a page of a source not there": NOT_THERE.format("nowhere"),
    "a page on no device": "--device no_such: PyTorch has no such device",
    "gates of a model without": "has no transform gates",
    "external words of another dictionary": "^error: table.npy: belongs to another dictionary",
    "external words of a vector file": NOT_THERE.format("words.vec.json"),
    "an option of another command": "unrecognized arguments: --number-of 3.*did you mean --number",
    "vectors for a text that is not there": "error: nowhere: no such file",
    "candidates of dictionaries swapped": "know 0 words of lexicon, exchanged 24: exchange them",
    "a lexicon over its text": "error: train.xx: is also an input",
    "a lexicon below a file": "codes: is a file, but codes/new needs a directory",
    "a corpus without one language": "error: train.zz: no such file",
    "a corpus over itself": "error: train.xx: is also an input",
    "units over a dictionary that is a text": "error: train.xx:1: .* is not WORD COUNT",
    "a data set that nobody knows": "argument NAME: invalid choice: 'no_such'",
}
# A command line that could not be parsed says nothing about what the case is about.
NOT_PARSED = "unrecognized arguments|arguments are required"


def is_for_its_reason(case: Case, line: str, changed: list[str]) -> bool:
    """Whether a line of an error names what is wrong.

    Args:
        case: its pattern in ``SAYS`` is looked for; without one, a changed file, or without one
            the last option that the good command does not have, or the last value.
        line: the line that was printed.
        changed: the files that the case has changed.
    """
    if case.name in SAYS:
        return re.search(SAYS[case.name], line) is not None
    if re.search(NOT_PARSED, line):
        return False
    return any(word in line for word in changed or added_words(case.line)[-1:])


def added_words(line: str) -> list[str]:
    """Options that the good command does not have, or, without one, values."""
    words = shlex.split(line)
    best = None
    for good in GOOD_LINES:
        if good.split()[0] == words[0]:
            left = Counter(words) - Counter(good.split())
            best = left if best is None or left.total() < best.total() else best
    added = [word for word in words[1:] if best is None or word in best]
    options = [word for word in added if word.startswith("--")]
    return [option.partition("=")[0] for option in options] or added


def files(folder: Path) -> dict[str, bytes | None]:
    """Content by name; None for a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def changed_files(before: dict, after: dict) -> list[str]:
    """Names of what differs, with the names of what is missing now."""
    return sorted(name for name in before | after if before.get(name, 0) != after.get(name, 0))
