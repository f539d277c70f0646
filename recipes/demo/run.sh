#!/usr/bin/env bash
# The whole pipeline in a few minutes: make a language pair, train three small models, translate,
# score, compare. `make demo` runs it; everything it makes goes to work/demo, afresh every time.
#
#   DATA=toy       an invented language pair: no download, about 4 minutes on 2 cores
#   DATA=multi30k  real captions, English to German (from OUTLAYERS_DATA if that is set, else
#                  downloaded): a short training, about 10 minutes on 2 cores
#   EPOCHS DIM LR MAX_TOKENS TRAIN_SENTENCES SEED     to play with; defaults below
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

: "${DATA:=toy}"
WORK=$WORK/$DATA
RESULTS=$WORK
LEDGER=$WORK/ledger.jsonl
TEXT=$WORK/text
BIN=$WORK/bin
ARMS=(linear tied joint)
DICTIONARY=()
LAST_STEP=$((2 + ${#ARMS[@]} + 1))
STEP=0

# demo_step MESSAGE: which step of how many, and the time since the start.
demo_step() {
  STEP=$((STEP + 1))
  printf '\n[%d/%d] %d:%02d  %s\n' "$STEP" "$LAST_STEP" $((SECONDS / 60)) $((SECONDS % 60)) "$*"
}
step() { :; } # common.sh's own announcements would be one too many

prepare_toy() {
  : "${EPOCHS:=4}" "${DIM:=192}" "${LR:=0.004}" "${MAX_TOKENS:=350}" "${TRAIN_SENTENCES:=8000}"
  SOURCE=src TARGET=tgt
  demo_step "inventing a language pair (it compounds, inflects and reorders)"
  "$PYTHON" data_prep/toy_corpus.py --output "$TEXT" --seed 1 --train "$TRAIN_SENTENCES" \
    --valid 300 --test 300 --vocabulary 1000
}

prepare_multi30k() {
  : "${EPOCHS:=4}" "${DIM:=128}" "${LR:=0.004}" "${MAX_TOKENS:=1000}"
  SOURCE=en TARGET=de
  # Words seen twice or less become <unk>: a third of the classes, and of the time.
  DICTIONARY=(--thresholdsrc 3 --thresholdtgt 3)
  demo_step "fetching Multi30k, English to German, and splitting its captions into words"
  download multi30k "$WORK/raw"
  mkdir -p "$TEXT"
  local split
  for split in train:train valid:val test:test_2016_flickr; do
    tokenize "$WORK/raw/${split#*:}" "$TEXT/${split%:*}" "$SOURCE" "$TARGET" --lowercase
  done
}

# define_arm NAME: sets WORDS and OPTIONS.
define_arm() {
  local common=(--source-lang "$SOURCE" --target-lang "$TARGET" --optimizer adam --lr "$LR"
    --clip-norm 5 --dropout 0.1 --max-tokens "$MAX_TOKENS" --max-epoch "$EPOCHS"
    --lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 --log-interval 10 --num-workers 0)
  case $1 in
    linear) WORDS="every output word has a vector of its own" ;;
    tied) WORDS="output words reuse the vectors of input words" ;;
    joint) WORDS="output words and contexts meet in a joint space" ;;
  esac
  OPTIONS=("${common[@]}" --arch luong_lstm --embed-dim "$DIM" --hidden-size "$DIM"
    --encoder-layers 1 --decoder-layers 1 --criterion full_softmax
    --output-layer "$1")
  if [[ $1 == joint ]]; then OPTIONS+=(--joint-dim "$DIM"); fi
}

case $DATA in
  toy | multi30k) ;;
  *) die "DATA=$DATA: known are toy and multi30k" ;;
esac

# Afresh: the demo shows the code as it is now. Downloads stay.
rm -rf "$WORK/runs" "$WORK/translations" "$LEDGER"
"prepare_$DATA"
demo_step "turning the words into numbers (fairseq-preprocess)"
binarize "$SOURCE" "$TARGET" "$TEXT/train" "$TEXT/valid" "$TEXT/test" "$BIN" "${DICTIONARY[@]}"

GENERATE="--beam 5 --max-tokens 4000"
ARM_OPTIONS=(--data "$BIN" --reference "$TEXT/test.$TARGET")
for name in "${ARMS[@]}"; do
  define_arm "$name"
  demo_step "$name: $WORDS (fairseq-train, fairseq-generate, sacreBLEU)"
  run_arm "$name" "$WORDS" -- "${OPTIONS[@]}"
done

demo_step "comparing"
"$PYTHON" recipes/demo/show.py "$LEDGER" --source "$TEXT/test.$SOURCE"
