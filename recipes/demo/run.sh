#!/usr/bin/env bash
# The whole pipeline in a few minutes: make a language pair, train three small models, translate,
# score, compare. `make demo` runs it; everything it makes goes to work/demo, afresh every time.
#
#   DATA=toy       an invented language pair: no download, about 4 minutes on 2 cores
#   DATA=multi30k  real captions, English to German (from OUTLAYERS_DATA if that is set, else
#                  downloaded): a short training, about 10 minutes on 2 cores
#   EPOCHS DIM LR MAX_TOKENS TRAIN_SENTENCES SEED     to play with; defaults in arms.py
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

mapfile -t names < <(ask arms)
DICTIONARY=()
LAST_STEP=$((2 + ${#names[@]} + 2))
STEP=0
BEGAN=0 # the present step, in seconds since the start

took() {
  if ((STEP > 0)); then printf '      took %d s\n' $((SECONDS - BEGAN)); fi
  BEGAN=$SECONDS
}

# demo_step MESSAGE: what the step before took; which step of how many, and the time since the start.
demo_step() {
  took
  STEP=$((STEP + 1))
  printf '\n[%d/%d] %d:%02d  %s\n' "$STEP" "$LAST_STEP" $((SECONDS / 60)) $((SECONDS % 60)) "$*"
}
step() { :; } # common.sh's own announcements would be one too many

prepare_toy() {
  demo_step "inventing a language pair (it compounds, inflects and reorders)"
  "$PYTHON" data_prep/toy_corpus.py --output "$TEXT" --seed 1 --train "$TRAIN_SENTENCES" \
    --valid 300 --test 300 --vocabulary 1000
}

prepare_multi30k() {
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

# Afresh: the demo shows the code as it is now. Downloads stay.
rm -rf "$WORK/runs" "$WORK/translations" "$LEDGER"
"prepare_$DATA"
demo_step "turning the words into numbers (fairseq-preprocess)"
binarize "$SOURCE" "$TARGET" "$TEXT/train" "$TEXT/valid" "$TEXT/test" "$BIN" "${DICTIONARY[@]}"

for name in "${names[@]}"; do
  demo_step "$name: $(ask words "$name") (fairseq-train, fairseq-generate, sacreBLEU)"
  lab run "$name"
done

demo_step "comparing"
"$PYTHON" -m recipes.demo.show "$LEDGER" --source "$TEXT/test.$SOURCE"

demo_step "making a page (over candidate lists, unknown words copied: BLEU differs a little)"
"$PYTHON" data_prep/build_lexicon.py --source "$TEXT/train.$SOURCE" --target "$TEXT/train.$TARGET" \
  --output "$WORK/lexicon"
"$PYTHON" data_prep/build_candidates.py --lexicon "$WORK/lexicon" --output "$WORK/candidates.npz" \
  --source-dictionary "$BIN/dict.$SOURCE.txt" --target-dictionary "$BIN/dict.$TARGET.txt" \
  >"$WORK/candidates.log"
mapfile -t checkpoints < <(lab files checkpoints/checkpoint_best.pt linear joint)
"$PYTHON" -m fairseq_outlayers inspect --path "${checkpoints[@]}" --names linear joint \
  --source "$TEXT/test.$SOURCE" --reference "$TEXT/test.$TARGET" --output "$WORK/page.html" \
  --candidates "$WORK/candidates.npz" --candidate-frequent 300 --unk-replacement copy \
  2>"$WORK/page.log"
lab report >"$WORK/report.log" 2>&1
made "$WORK/report.html (the three runs, with commands)"
took
