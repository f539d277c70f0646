"""One-line messages with a remedy for user mistakes that fairseq reports by a traceback.

fairseq's texts are in its ``trainer.py``, ``checkpoint_utils.py``, ``data/data_utils.py``,
``tasks/`` and commands. Used by :mod:`~fairseq_outlayers.patches.conveniences.clear_errors`. Errors
that are not on the list keep their traceback, and so do missing files that the user did not name.
"""

import os
import re
import sys
import traceback
from typing import Dict, Optional, Sequence

from fairseq_outlayers.stock.unused_options import is_named

OUR_REPLACEMENT = (
    "use --task translation_outlayers --unk-replacement copy, or dictionary with --unk-dictionary"
)
# The assertion of fairseq's beam search, the step and the longest length, where a sentence has no
# finished hypothesis.
NO_HYPOTHESIS = r"^(\d+) < \1$"
# Texts of fairseq (or PyTorch, or Python), and their replacements; {1} is the first group.
REMEDIES: Dict[str, str] = {
    r"Must specify batch size": ("no batch size: give --max-tokens or --batch-size"),
    r"Sentences lengths should not exceed max_tokens=(\d+)": (
        "--max-tokens {1}: there are longer sentences: raise it, or remove them from the data"
    ),
    r"The dataset is empty\. This could indicate": (
        "no sentences to train on: all are longer than --max-tokens, --max-source-positions or "
        "--max-target-positions allow, or the data is empty: raise the one that is too small"
    ),
    r"Size of sample #\d+ is invalid \(=(.*)\) since max_positions=(.*), skip": (
        "a sentence is longer than the model allows ({1} tokens, at most {2}): raise "
        "--max-source-positions and --max-target-positions, or leave such sentences out by "
        "--skip-invalid-size-inputs-valid-test"
    ),
    r"Could not infer language pair": (
        "the data folder has no train.XX-YY.*: check its path, or give the languages by "
        "--source-lang and --target-lang; a language model needs another --task"
    ),
    r"Dataset not found: (\S+) \((.*)\)": (
        "{2}: no binarized text named {1}: check the folder, and the name (--train-subset, "
        "--valid-subset, --gen-subset)"
    ),
    r"--path required for generation": "no checkpoint: give its path as --path",
    r"Model file not found: (.*\.pt:.*)": (
        "{1}: this command evaluates one checkpoint: name one (load(...).score in Python scores by "
        "several)"
    ),
    r"Model file not found: (.*)": "{1}: no such checkpoint: check the path",
    r"Cannot load model parameters from checkpoint (.*); please": (
        "{1} contains another model than the options describe: continue with the options of its "
        "training, or choose another --save-dir (or --restore-file)"
    ),
    r"(Criterion|Optimizer) does not match; please reset the optimizer.*\. (\w+) vs (\w+)": (
        "the checkpoint was trained with another {1} ({2}; now {3}): use that of the training, or "
        "reset the optimizer by --reset-optimizer"
    ),
    r"Error\(s\) in loading state_dict for (\w+):\s+([^\n]{1,160})": (
        "the checkpoint lacks parameters of its own {1}, so it is damaged or of another version, "
        "or --model-overrides asks for another model: {2}"
    ),
    r"Interpolation key 'task\.\w+' not found": (
        "the model of --arch is a language model, but the --task is not: choose another --arch, or "
        "--task language_modeling"
    ),
    r"object has no attribute 'supported_targets'": (
        "the model (of --arch, or in the checkpoint) is a translation model, but the --task needs "
        "a language model: choose another model or --task"
    ),
    r"Source and target must contain the same number of examples": (
        "the two sides of a binarized text have different numbers of sentences: binarize texts "
        "with equal numbers of lines, line n of one translating line n of the other"
    ),
    r"cannot re-shape|_bin_buffer_mmap": "a binarized text is empty or damaged: binarize it again",
    r"index out of range in self": (
        "a word id is larger than the model's vocabulary: the data, the dictionary and the model "
        "do not belong together; binarize the text with the dictionary of the training"
    ),
    r"not enough memory: you tried to allocate (\d+) bytes|Unable to allocate (.*) for an array": (
        "{0}: use a smaller model, smaller batches or a smaller beam"
    ),
    r"--(trainpref|tgtdict|srcdict) must be set if (\S+) is not specified": (
        "--{1} or {2} is missing: one of them is needed to build a dictionary"
    ),
    r"\[Errno (?:27|28|122)\] (.*)": (
        "writing failed: {1}: free disk space and run the same command again; earlier files are "
        "unchanged"
    ),
    r"gradients are Nan/Inf|Minimum loss scale reached": (
        "the gradients are NaN or infinite, so training has diverged: lower --lr, or set "
        "--clip-norm or --warmup-updates, and resume from the last checkpoint"
    ),
    r"embed_dim must be divisible by num_heads": (
        "--encoder-embed-dim and --decoder-embed-dim must be multiples of "
        "--encoder-attention-heads and --decoder-attention-heads"
    ),
    r"^Input features must be a multiple of block sizes": (
        "--quant-noise-pq-block-size (8 by default) must divide all widths of the model: lower it, "
        "or choose other widths, such as --encoder-ffn-embed-dim"
    ),
    r"^(criterion|optimizer|tokenizer|bpe) is required!": "--{1} is missing: choose one",
    r"Unknown post_process option: (.*)": (
        "--post-process {1}: known are subword_nmt, sentencepiece, wordpiece, letter, _EOW, "
        "silence and none"
    ),
    r"could not parse ModelProto from (.*)": (
        "{1}: not a sentencepiece model: check --sentencepiece-model"
    ),
    r"Expected one of cpu, cuda.* at start of device string: (.*)": (
        "{1}: no such device: give cpu, cuda or cuda:NUMBER"
    ),
    r"AdaptiveLoss is not compatible": "--criterion adaptive_loss needs --ddp-backend legacy_ddp",
    r"cannot specify cutoff larger than vocab size": (
        "--adaptive-softmax-cutoff or --adaptive-input-cutoff: must be below the number of words"
    ),
    r"--replace-unk requires a raw text dataset": (
        "--replace-unk does not work in this version of fairseq: leave it out, and "
        f"{OUR_REPLACEMENT}"
    ),
    r"Cannot resume training due to dataloader mismatch": (
        "the checkpoint has trained on more batches of its epoch than this data has: resume on the "
        "data of the training, or begin a new epoch by --reset-dataloader"
    ),
    NO_HYPOTHESIS: (
        "a sentence has no finished translation after {1} steps: loosen --no-repeat-ngram-size, "
        "--min-len or --max-len-b, or give another checkpoint if its scores are not numbers (NaN)"
    ),
    r"min_len cannot be larger than max_len": (
        "--min-len is larger than the longest translation, which the model's "
        "--max-target-positions, --max-len-a and --max-len-b limit: lower --min-len"
    ),
    r"Torch not compiled with CUDA enabled|Found no NVIDIA driver": (
        "PyTorch finds no GPU, and --fp16, --quant-noise-scalar and --profile need one: leave them "
        "out"
    ),
    r"Cannot use fp16 and AMP together": (
        "--amp beside --fp16 or --memory-efficient-fp16: leave one of them out"
    ),
    r"Pass-through schedule can only be used": (
        "--lr-scheduler pass_through: no --optimizer of the command line has a schedule of its "
        "own: choose another --lr-scheduler"
    ),
    r"^Must specify --max-tokens$": (
        "--num-batch-buckets needs --max-tokens: add it, or leave --num-batch-buckets out"
    ),
    r"^malformed node or string": (
        "an option takes a value of Python, such as 2, True or [1, 2], and was given another word: "
        "write true as True and false as False"
    ),
    r"^Unsupported optimizer: (\w+)": (
        "--memory-efficient-fp16 does not support this --optimizer ({1}): use --fp16, or leave it "
        "out"
    ),
    r"leading zeros in decimal integer literals": (
        "a number with a decimal comma or leading zeros: write 0.001, as in --lr 0.001"
    ),
    r"^'(?:steps|history)'$": (
        "--print-step and --retain-iter-history are for models that refine a translation "
        "(non-autoregressive ones): leave them out"
    ),
    r"DistributedDataParallel is not needed when a module": (
        "several processes train only tables, which --optimizer lazy_adam averages itself (or "
        "nothing at all): use --ddp-backend legacy_ddp"
    ),
    r"pip install fairscale": (
        "this needs the package fairscale: leave out --zero-sharding, and choose another "
        "--ddp-backend"
    ),
    r"Please install apex": (
        "this option needs NVIDIA's apex, which is built from source (the package apex is another "
        "one): leave it out; instead of --optimizer lamb choose another"
    ),
    r"Please install (?:.*pip install )?([\w-]+)(?:\.| to use .*)?$": (
        "this option needs a Python package that is not installed: pip install {1}"
    ),
    r"^No module named 'requests'$": (
        "fairseq downloads the files of --bpe gpt2 (or a named model) by the package requests: pip "
        "install requests, or give local files, as by --gpt2-encoder-json and --gpt2-vocab-bpe"
    ),
    r"Unsupported language modeling target: (\w+)": (
        "--{1}-target: this model predicts the next word only: leave out --self-target, "
        "--future-target and --past-target"
    ),
    r"object has no attribute 'get_ctc_output'": (
        "--criterion label_smoothed_cross_entropy_with_ctc needs a model with an output for CTC: "
        "choose another criterion"
    ),
    r"cannot access local variable 'valid_losses'": (
        "an epoch has no complete update, so nothing was trained: leave out "
        "--skip-remainder-batch, lower --update-freq, or give more data"
    ),
}

# Replacements by the fairseq function that reads a file and the type of the exception.
REMEDIES_IN = {
    ("parse_embedding", ValueError): (
        "--encoder-embed-path or --decoder-embed-path: the file is not a text file of word vectors "
        "(a header, then a word and its numbers on each line)"
    ),
    ("buffered_read", UnicodeDecodeError): (
        "the text to translate is not UTF-8 ({0}): convert it with iconv -t UTF-8"
    ),
    ("validate", KeyError): (
        "--best-checkpoint-metric {0}: validation has no such metric: use one of those in its line "
        "of the log (loss, nll_loss, ppl, ...)"
    ),
    ("load_ema_from_checkpoint", KeyError): (
        "--ema-seed-model: the checkpoint has no average of weights: give one of a training with "
        "--store-ema, or leave it out"
    ),
    ("first_batch", KeyError): (
        "fairseq-train cannot read a text that was binarized with --dataset-impl lazy or cached: "
        "binarize it again without"
    ),
    ("get_tpu_device", AttributeError): (
        "--bf16 and --tpu are for TPUs in fairseq, and need torch_xla: leave them out"
    ),
    ("init_constraints", TypeError): (
        "--constraints works only with fairseq-interactive, which reads them behind each sentence "
        "and a tab: leave it out"
    ),
}
NO_SENTENCES = (
    "no sentence is left: all are longer than --max-source-positions or --max-target-positions, "
    "or the text is empty: raise them, or name another --gen-subset or --valid-subset"
)
# Functions that divide by the number of sentences or words at their end.
DIVIDING = ("_main", "reduce_metrics")
# Messages that name an option are usually about user mistakes.
NAMES_AN_OPTION = r"(?s)^(?=[^\n]*--[a-z][a-z-]+)([^\n{]{10,300}?)(?:: \{|[.!]?$)"

NUMPY_NUMBER = r"np\.\w+\(([-+.\de]+)\)"  # as numpy 2 writes one
MISSING = r"No such file or directory: '(.*)'"
NO_DICTIONARY = (
    "{}: no such file: check that the data folder is that of fairseq-preprocess and matches --task "
    "(dict.txt for language models, dict.LANGUAGE.txt for translation)"
)
NO_DICTIONARY_OF_LM = (
    "{0}: no such file: the language model of --lm-path reads its dictionary there, which must "
    "equal the target dictionary: copy that (cp {1}/dict.TARGET.txt {0})"
)


def plain_message(error: BaseException, command: Sequence[str] = ()) -> Optional[str]:
    """One line with a remedy for a mistake on the list; None for other errors.

    Args:
        error: that ended the command.
        command: arguments of the command line; by default this program's.
    """
    text = re.sub(NUMPY_NUMBER, r"\1", str(error))
    missing = re.search(MISSING, text)
    if missing is not None:
        return _missing(missing[1], command or sys.argv[1:])
    if isinstance(error, OSError):
        line = _refused_by_system(error, command or sys.argv[1:])
        if line is not None:
            return line
    for pattern, instead in REMEDIES.items():
        found = re.search(pattern, text)
        if found is not None:
            line = instead.format(found[0], *found.groups())
            return line + _differences(error.__context__)
    for (function, kind), instead in REMEDIES_IN.items():
        if isinstance(error, kind) and _raised_in(error, function):
            return instead.format(error)
    if isinstance(error, ZeroDivisionError) and _raised_at(error) in DIVIDING:
        return NO_SENTENCES
    return _naming_an_option(error)


def _raised_in(error: BaseException, function: str) -> bool:
    """Whether the traceback contains this function of fairseq."""
    return any(
        frame.f_code.co_name == function and frame.f_globals["__name__"].startswith("fairseq")
        for frame, _ in traceback.walk_tb(error.__traceback__)
    )


def _raised_at(error: BaseException) -> str:
    """The name of the function that raised it."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return frames[-1].f_code.co_name if frames else ""


def _naming_an_option(error: BaseException) -> Optional[str]:
    """fairseq's own message if it names an option; else None."""
    if not isinstance(error, (ValueError, AssertionError, NotImplementedError)):
        return None
    found = re.match(NAMES_AN_OPTION, str(error))
    return found and found[1]


def _refused_by_system(error: OSError, command: Sequence[str]) -> Optional[str]:
    """One line if the user named the path of a system error; else None."""
    if isinstance(error, FileExistsError) and error.errno is None:
        # fairseq-preprocess, for a dictionary: the message is only the path.
        return f"{error}: already exists: pass it as --srcdict or --tgtdict, or another --destdir"
    path, reason = error.filename, error.strerror
    if not isinstance(path, str) or not any(_named(path, word) for word in command):
        return None
    return f"{path}: {reason}: check the path"


def _named(path: str, word: str) -> bool:
    """Whether a word of the command line is the path, its folder or a prefix."""
    given = word.partition("=")[2] if word.startswith("-") else word
    return bool(given) and os.path.abspath(path).startswith(os.path.abspath(given))


def _missing(path: str, command: Sequence[str]) -> Optional[str]:
    """One line if the user has named the path, its folder or a prefix; else None."""
    absolute = os.path.abspath(path)
    words = (word.partition("=")[2] if word.startswith("-") else word for word in command)
    for given in filter(None, os.pathsep.join(words).split(os.pathsep)):
        named = os.path.abspath(given)
        inside = absolute.startswith(named + os.sep)
        if inside and re.fullmatch(r"dict\.(.*\.)?txt", os.path.basename(path)):
            of_lm = os.path.basename(path) == "dict.txt" and is_named("lm_path", command)
            line = NO_DICTIONARY_OF_LM if of_lm else NO_DICTIONARY
            return line.format(path, os.path.dirname(path))
        # A file missing from an existing folder may be a bug, not a user's mistake.
        within = inside and not os.path.exists(named)
        if absolute == named or absolute.startswith(named + ".") or within:
            return f"{path}: no such file or folder: check the path"
    return None


def _differences(cause: Optional[BaseException]) -> str:
    """PyTorch's first line about differences between a checkpoint and a model."""
    lines = str(cause).split("\n") if isinstance(cause, RuntimeError) else []
    if len(lines) < 2 or not lines[0].startswith("Error(s) in loading state_dict"):
        return ""
    return f". The first difference: {lines[1].strip()[:200]}"
