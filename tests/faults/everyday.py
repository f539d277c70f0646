"""More of the table of bad inputs: mistakes of an ordinary day, on every command."""

import gzip
from collections.abc import Iterator
from pathlib import Path

from tests.faults import world
from tests.faults.bad_inputs import PREPROCESS, Case, cut, holds, lines_of, nothing, removed

TRANSFORMER = world.TRAIN.replace(
    "--arch luong_lstm --embed-dim 8 --hidden-size 8", "--arch transformer_outlayers"
).replace("--optimizer adam", "--optimizer adam --encoder-layers 1 --decoder-layers 1")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def with_mark(name: str):
    return lambda folder: (folder / name).write_bytes(
        BYTE_ORDER_MARK + (folder / name).read_bytes()
    ) and None  # fmt: skip


def lost_last(folder: Path) -> None:
    """The checkpoint to resume from is gone, an earlier one is not."""
    (folder / "save").mkdir()
    (folder / "model.pt").rename(folder / "save" / "checkpoint1.pt")


def training() -> Iterator[Case]:
    train = world.TRAIN
    wrong = {
        "resumed with sides swapped": "--restore-file model.pt -s yy -t xx",
        "log file in no folder": "--log-file nowhere/log",
        "TensorBoard into a file": "--tensorboard-logdir codes",
        "an empty save folder": "--save-dir ''",
        "fine-tuned and resumed": "--finetune-from-model model.pt --restore-file model.pt",
        "fine-tuned and reset": "--finetune-from-model model.pt --reset-optimizer",
        "fine-tuned from a text": "--finetune-from-model train.xx",
        "two learning rates for a schedule of one": "--lr-scheduler inverse_sqrt --lr 0.1,0.01",
        "update-freq with a letter": "--update-freq 2,x",
        "another kind of data": "--dataset-impl raw",
        "an unknown kind of data": "--dataset-impl no_such",
        "a subset that is not there": "--train-subset no_such",
        "one of two subsets that is not there": "--train-subset train,no_such",
        "a padding of a flag": "--left-pad-source maybe",
        "BLEU options that are no JSON": "--eval-bleu --eval-bleu-args {beam:5}",
        "BLEU with an unknown detokenizer": "--eval-bleu --eval-bleu-detok no_such",
        "BLEU with detokenizer options that are no JSON": "--eval-bleu --eval-bleu-detok moses "
        "--eval-bleu-detok-args x",
        "a vector file for a table": "--source-embedding mix_sum --external-embeddings words.vec",
        "a table that nothing reads": "--external-embeddings table.npy",
        "partitions without their criterion": "--partition-size 12",
        "the partitions' criterion without the task": "--criterion partition_softmax",
        "samples without a sampler": "--num-sampled 5",
        "a joint space without its layer": "--joint-dim 6",
        "overrides that are none": "--restore-file model.pt --optimizer-overrides {lr",
        "overrides that are code": "--restore-file model.pt --optimizer-overrides open('x')",
        "a pattern that is none": "--optimizer-overrides [",
        "an empty --restore-file": "--restore-file ''",
        "an empty folder to resume": "--restore-file nowhere/checkpoint_last.pt",
        "a word where a number belongs": "--max-update many",
        "an option without its value": "--max-update",
        "an option with a typing error": "--max-updates-of 3 --dorpout 0.2",
        "an argument too many": "bin2",
        "shared embeddings of two dictionaries": "--share-all-embeddings",
        "no such device": "--device-id x",
        "a wrapper that needs fairscale": "--ddp-backend fully_sharded",
        "another wrapper that needs fairscale": "--ddp-backend slowmo",
        "more processes than anybody starts": "--distributed-world-size 2",
        "a share of the data": "--num-shards 2",
        "states that need fairscale": "--zero-sharding os",
        "groups of optimizers": "--optimizer composite",
        "the seed of an average without the average": "--ema-seed-model model.pt",
        "candidates without translations": world.CANDIDATES,
        "copied words without translations": f"{world.OURS} --unk-replacement copy",
    }
    for name, more in wrong.items():
        yield Case(f"train, {name}", nothing, f"{train} {more}")
    yield Case(
        "train, an architecture of language models",
        nothing,
        train.replace("--arch luong_lstm --embed-dim 8 --hidden-size 8", "--arch subword_lm"),
    )
    validated = train.replace("--disable-validation", "")
    yield Case("train, validation data missing", removed("bin/valid.xx-yy.xx.idx"), validated)
    yield Case("train, validation subset not there", nothing, f"{validated} --valid-subset no_such")
    yield Case("train, validated on its text", nothing, f"{validated} --valid-subset valid,train")
    yield Case(
        "train, a metric that validation does not compute",
        nothing,
        f"{validated} --best-checkpoint-metric no_such",
    )
    yield Case("train, only half of the data", removed("bin/train.xx-yy.yy.idx"), train)
    yield Case("train, checkpoints but not the last", lost_last, train)
    yield Case(
        "train, a word of 20,001 units",
        holds(
            "lm/morphs.txt",
            b"".join(
                b"yy%d\t%b\n" % (number, b" ".join([b"y"] * (1 if number else 20_001)))
                for number in range(14)
            ),
        ),
        world.TRAIN_LM.replace("charcnn", "morphsum"),
    )
    yield Case(
        "train, data folders of other dictionaries", nothing, train.replace("bin", "bin:ext", 1)
    )
    yield Case(
        "train, resumed within an epoch with a smaller batch",
        nothing,
        f"{train} --restore-file model.pt --max-tokens 100 --max-update 9",
    )
    yield Case(
        "train, a schedule of no updates",
        nothing,
        f"{train} --lr-scheduler polynomial_decay --total-num-update 0",
    )
    yield Case(
        "train, adaptive loss with the usual wrapper",
        nothing,
        train.replace(
            "luong_lstm --embed-dim 8 --hidden-size 8 --dropout 0",
            "transformer_tiny --adaptive-softmax-cutoff 5",
        ).replace("full_softmax", "adaptive_loss"),
    )
    yield Case("train, no optimizer", nothing, train.replace("--optimizer adam", ""))
    yield Case(
        "train, language model of translations", nothing, world.TRAIN_LM.replace("lm", "bin", 1)
    )
    for name, more in {
        "shared embeddings of two dictionaries": "--share-all-embeddings --output-layer tied",
        "merged dictionaries": "--output-layer tied --merge-src-tgt-embed",
        "heads that do not divide the width": "--encoder-embed-dim 8 --encoder-attention-heads 3",
        "an unknown activation": "--activation-fn no_such",
        "sentences longer than positions": "--max-source-positions 3 --max-target-positions 3",
        "embeddings from a file that is not there": "--encoder-embed-path nowhere",
        "embeddings from a text": "--encoder-embed-path train.xx",
        "layers to keep that are none": "--encoder-layers-to-keep x",
        "experts of one process": "--base-layers 1",
        "layers to keep": "--encoder-layers-to-keep 0",
        "layers of the decoder to keep": "--decoder-layers-to-keep 0,1",
    }.items():
        yield Case(f"train a Transformer, {name}", nothing, f"{TRANSFORMER} {more}")


def decoding() -> Iterator[Case]:
    generate, candidates = world.GENERATE, f"{world.GENERATE} {world.CANDIDATES}"
    wrong = {
        "sides swapped": "-s yy -t xx",
        "the same side twice": "-s xx -t xx",
        "two models and one is not there": "--path model.pt:nowhere.pt",
        "two models with a comma": "--path model.pt,model.pt",
        "a translation and a language model": "--path model.pt:lm.pt",
        "an empty path": "--path ''",
        "candidates without their task": "--candidates candidates.npz",
        "a results folder that is a file": "--results-path codes",
        "results below a file": "--results-path codes/here",
        "a language model that is not there": "--lm-weight 1 --lm-path nowhere.pt",
        "units that are undone by nobody": "--post-process no_such",
        "an unknown score": "--scoring no_such",
        "an unknown tokenizer": "--tokenizer no_such",
        "an unknown segmentation": "--bpe no_such",
        "a segmentation without its codes": "--bpe subword_nmt",
        "a segmentation by a folder": "--bpe subword_nmt --bpe-codes bin",
        "sentencepiece with subword-nmt's codes": "--bpe sentencepiece --sentencepiece-model codes",
        "overrides that are none": "--model-overrides {x",
        "layers to keep of one side": "--model-overrides \"{'decoder_layers_to_keep': '0'}\"",
        "nothing to write alignments of": "--print-alignment no_such",
        "an unlikely kind of data": "--dataset-impl no_such",
        "an iteration option with a letter": "--iter-decode-max-iter x",
        "shards out of order": "--num-shards 2 --shard-id 2",
        "a negative shard": "--num-shards 2 --shard-id -1",
        "diverse beams that do not divide": "--beam 5 --diverse-beam-groups 2",
        "samples of one hypothesis": "--sampling",
        "a source text without its task": "--source-text test.xx",
        "fairseq's own replacement": "--replace-unk lexicon",
        "a share of the sentences": "--shard-id 0 --num-shards 2",
        "a language model without weight": "--lm-path lm.pt",
        "a weight of no language model": "--lm-weight 0.5",
        "a score under its old name": "--sacrebleu",
        "steps of a refinement": "--print-step",
        "a score that needs a package": "--scoring wer",
        "a tokenizer without its languages": "--tokenizer moses",
        "another segmentation without its codes": "--bpe fastbpe",
    }
    for name, more in wrong.items():
        yield Case(f"generate, {name}", nothing, f"{generate} {more}")
    yield Case(
        "generate, the target's dictionary is the source's",
        lambda folder: (folder / "bin/dict.yy.txt").write_bytes(
            (folder / "bin/dict.xx.txt").read_bytes()
        ) and None,
        generate,
    )  # fmt: skip
    yield Case(
        "generate, the dictionary in another order",
        lines_of("bin/dict.yy.txt", lambda rows: rows[::-1]),
        generate,
    )
    yield Case(
        "generate, candidates where a lexicon belongs",
        nothing,
        f"{generate} {world.OURS} --unk-replacement dictionary --unk-dictionary candidates.npz",
    )
    yield Case(
        "generate, a lexicon where candidates belong",
        nothing,
        candidates.replace("candidates.npz", "lexicon"),
    )
    yield Case(
        "generate, candidates of a folder", nothing, candidates.replace("candidates.npz", "bin")
    )
    yield Case("generate, an empty checkpoint", holds("model.pt", b""), generate)
    lines = world.INTERACTIVE
    for name, more in {
        "text that is not there": "--input nowhere",
        "text that is a folder": "--input bin",
        "a buffer less than a batch": "--buffer-size 1 --batch-size 5",
        "sides swapped": "-s yy -t xx",
        "a prefix of no reference": "--prefix-size 2",
        "a language model": "--lm-weight 1 --lm-path lm.pt",
        "soft alignments": "--print-alignment soft",
    }.items():
        yield Case(f"interactive, {name}", nothing, f"{lines} {more}")
    yield Case(
        "interactive, text in Latin 1", holds("text", "gr\u00fcn\n".encode("latin1")),
        f"{lines} --input text",
    )  # fmt: skip
    yield Case(
        "interactive, text in UTF-16", holds("text", "xx1 xx2\n".encode("utf-16")),
        f"{lines} --input text",
    )  # fmt: skip
    score, validate = world.EVAL_LM, f"{world.VALIDATE} --task translation"
    yield Case("eval-lm, a subset not there", nothing, f"{score} --gen-subset no_such")
    yield Case(
        "eval-lm, a folder of translations", nothing, score.replace("eval_lm lm", "eval_lm bin")
    )
    yield Case(
        "eval-lm, text where data belong", nothing, score.replace("eval_lm lm", "eval_lm train.yy")
    )
    yield Case("eval-lm, a context longer than a window", nothing, f"{score} --context-window 99")
    yield Case(
        "validate, candidates",
        nothing,
        f"{world.VALIDATE} {world.CANDIDATES}",
    )
    yield Case("validate, a subset not there", nothing, f"{validate} --valid-subset no_such")
    yield Case("validate, sides swapped", nothing, f"{validate} -s yy -t xx")
    yield Case("validate, no checkpoint", nothing, validate.replace("--path model.pt", ""))


def preparing() -> Iterator[Case]:
    line = PREPROCESS
    wrong = {
        "a prefix with its ending": line.replace("--trainpref train", "--trainpref train.xx"),
        "no languages": line.replace("--source-lang xx --target-lang yy", ""),
        "a folder that has been used": line.replace("--destdir new", "--destdir bin"),
        "no processes": f"{line} --workers 0",
        "processes of letters": f"{line} --workers many",
        "one dictionary and two": f"{line} --joined-dictionary --srcdict bin/dict.xx.txt "
        "--tgtdict bin/dict.yy.txt",
        "a folder as dictionary": f"{line} --srcdict bin",
        "a text as dictionary": f"{line} --srcdict train.xx",
        "a dictionary not there": f"{line} --srcdict nowhere",
        "the other side's dictionary": f"{line} --srcdict bin/dict.yy.txt",
        "a validation text not there": f"{line} --validpref nowhere",
        "a threshold above every word": f"{line} --thresholdsrc 1000000",
        "a threshold below zero": f"{line} --thresholdsrc -1",
        "padding of zero": f"{line} --padding-factor 0",
        "alignments not there": f"{line} --align-suffix no_such",
    }
    for name, command in wrong.items():
        yield Case(f"preprocess, {name}", nothing, command)
    yield Case("preprocess, a byte order mark", with_mark("train.xx"), line)
    yield Case("preprocess, only empty lines", holds("train.xx", b"\n" * 80), line)
    yield Case(
        "preprocess, a compressed text",
        lambda folder: (folder / "train.xx").write_bytes(
            gzip.compress((folder / "train.xx").read_bytes())
        ) and None,
        line,
    )  # fmt: skip


def compressed(folder: Path) -> None:
    (folder / "words.vec.gz").write_bytes(gzip.compress((folder / "words.vec").read_bytes()))
    cut("words.vec.gz", 0.6)(folder)


def own_commands() -> Iterator[Case]:
    wrong = {
        "checkpoint of a text": "checkpoint train.xx",
        "checkpoint of a folder": "checkpoint bin",
        "neighbours of a word nobody knows": "neighbours --path model.pt --data bin --words zz",
        "neighbours in a folder without dictionaries": "neighbours --path model.pt --data new "
        "--words yy1",
        "neighbours with the wrong dictionaries": "neighbours --path model.pt --data ext "
        "--words yy1",
        "bins of texts out of step": "frequency-bins --reference test.yy --hypothesis train.yy "
        "--training-text train.yy --language de",
        "bins of a text not there": "frequency-bins --reference nowhere --hypothesis test.yy "
        "--training-text train.yy --language de",
        "bins of an unknown language": "frequency-bins --reference test.yy --hypothesis test.yy "
        "--training-text train.yy --language no_such",
        "open vocabulary of a translation model": "open-vocabulary model.pt --text test.yy "
        "--data bin",
        "open vocabulary of a text not there": "open-vocabulary lm.pt --text nowhere --data lm",
        "partitions of a folder not there": "partitions nowhere --partition-size 12",
        "partitions of a text": "partitions train.xx --partition-size 12",
        "partitions of too few words": "partitions bin --partition-size 2",
        "correction of a model without partitions": "partition-correction --path model.pt "
        "--output new.pt --data bin",
        "an LSTM for CTranslate2": "export model.pt --to ctranslate2 --output new --data bin",
        "an export over a file": "export model.pt --to fairseq --output codes --data bin",
        "a page of texts out of step": "inspect --path model.pt --data bin --source test.xx "
        "--reference train.yy --output page.html",
        "a page into no folder": "inspect --path model.pt --data bin --source test.xx "
        "--reference test.yy --output nowhere/page.html",
        "a page of a source not there": "inspect --path model.pt --data bin --source nowhere "
        "--reference test.yy --output page.html",
        "a page on no device": "inspect --path model.pt --data bin --source test.xx "
        "--reference test.yy --output page.html --device no_such",
        "a page over the source": "inspect --path model.pt --data bin --source test.xx "
        "--reference test.yy --output test.xx",
        "gates of a model without": "transform-gates model.pt --data bin",
        "components of nothing": "principal-components nowhere.pt",
        "external words of another dictionary": "external-words --dictionary bin/dict.xx.txt "
        "--internal-vocabulary 8 --external-embeddings table.npy --source test.xx",
        "external words of a vector file": "external-words --dictionary ext/dict.xx.txt "
        "--internal-vocabulary 8 --external-embeddings words.vec --source test.xx",
        "an option of another command": "neighbours --path model.pt --data bin --words yy1 "
        "--number-of 3",
    }
    for name, command in wrong.items():
        yield Case(name, nothing, f"outlayers {command}")
    yield Case(
        "unseen words of a layer with rows",
        holds("descriptions", b"new\tyy1 yy2\n"),
        "outlayers unseen-words --path model.pt --data bin --descriptions descriptions "
        "--output new.pt",
    )
    vectors = "extract_embeddings --vectors words.vec.gz --train train.xx --output new"
    yield Case("compressed vectors cut short", compressed, vectors)
    yield Case("vectors for a text that is not there", nothing,
               "extract_embeddings --vectors words.vec --train nowhere --output new")  # fmt: skip
    dictionaries = "--source-dictionary bin/dict.yy.txt --target-dictionary bin/dict.xx.txt"
    yield Case("candidates of dictionaries swapped", nothing,
               f"build_candidates --lexicon lexicon {dictionaries} --output new.npz")  # fmt: skip
    yield Case("a lexicon over its text", nothing,
               "build_lexicon --source train.xx --target train.yy --output train.xx")  # fmt: skip
    yield Case("a lexicon below a file", nothing, "build_lexicon --source train.xx "
               "--target train.yy --output codes/new")  # fmt: skip
    yield Case("a corpus of one language twice", nothing,
               "tokenize_corpus --input train --output new --languages xx xx")  # fmt: skip
    yield Case("a corpus without one language", nothing,
               "tokenize_corpus --input train --output new --languages xx zz")  # fmt: skip
    yield Case("a corpus over itself", nothing,
               "tokenize_corpus --input train --output train --languages xx yy")  # fmt: skip
    yield Case("units over a dictionary that is a text", nothing,
               "build_subword_table train.xx --units characters")  # fmt: skip
    yield Case("a data set that nobody knows", nothing, "download no_such --out new")
    yield Case("a data set from no folder", nothing,
               "download multi30k --out new --from nowhere")  # fmt: skip


GROUPS = {
    "everyday: training": training,
    "everyday: decoding": decoding,
    "everyday: preparing": preparing,
    "everyday: commands and scripts": own_commands,
}
