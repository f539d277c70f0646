#!/usr/bin/env bash
# The whole pipeline in a few minutes: make a language pair, train three small models, translate,
# score, compare. Run by `make demo`; output goes to work/demo and is overwritten.
#
#   DATA=toy       a synthetic language pair: no download, 4 to 9 minutes on 2 cores
#   DATA=multi30k  real captions, English to German (from OUTLAYERS_DATA if that is set, else
#                  downloaded): a short training, about 10 minutes on 2 cores
#   ARMS EPOCHS DIM LR MAX_TOKENS TRAIN_SENTENCES SEED     defaults: see arms.py
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

mkdir -p "$WORK"
exec 7>"$WORK/demo.lock" # released when this process ends
flock -n 7 || die "another demo runs in $WORK: wait for its end, or set OUTLAYERS_WORK"
lines_of names ask arms
DICTIONARY=()
LAST_STEP=$((2 + ${#names[@]} + 2))
STEP=0
BEGAN=0 # start of the current step, in seconds

took() {
  if ((STEP > 0)); then printf '      took %d s\n' $((SECONDS - BEGAN)); fi
  BEGAN=$SECONDS
}

# demo_step MESSAGE: print the time of the previous step, the step's number, and the total time.
demo_step() {
  took
  STEP=$((STEP + 1))
  printf '\n[%d/%d] %d:%02d  %s\n' "$STEP" "$LAST_STEP" $((SECONDS / 60)) $((SECONDS % 60)) "$*"
}
# failed LOG: end with the last lines of a log.
failed() {
  tail -n 3 "$1" >&2
  die "step $STEP failed: see $1"
}
step() { :; } # suppresses the announcements of common.sh

prepare_toy() {
  demo_step "making a synthetic language pair (compounds, inflection, reordering)"
  "$PYTHON" data_prep/toy_corpus.py --output "$TEXT" --seed 1 --train "$TRAIN_SENTENCES" \
    --valid 300 --test 300 --vocabulary 1000
}

prepare_multi30k() {
  # Words seen at most twice become <unk>, which leaves a third of the classes and of the time.
  DICTIONARY=(--thresholdsrc 3 --thresholdtgt 3)
  demo_step "downloading and tokenizing Multi30k, English to German"
  RAW=$WORK/raw TOKENIZED=$TEXT multi30k_lowercase
}

# Start from scratch, to show the current code. Downloads are kept.
rm -rf "$WORK/runs" "$WORK/translations" "$LEDGER"
"prepare_$DATA"
demo_step "binarizing (fairseq-preprocess)"
binarize "$SOURCE" "$TARGET" "$TEXT/train" "$TEXT/valid" "$TEXT/test" "$BIN" "${DICTIONARY[@]}"

for name in "${names[@]}"; do
  demo_step "$name: $(ask words "$name") (fairseq-train, fairseq-generate, sacreBLEU)"
  lab run "$name"
done

demo_step "comparing"
"$PYTHON" -m recipes.demo.show "$LEDGER" --source "$TEXT/test.$SOURCE"

demo_step "writing an HTML page (candidate lists, unknown words copied: BLEU differs by some points)"
"$PYTHON" data_prep/build_lexicon.py --source "$TEXT/train.$SOURCE" --target "$TEXT/train.$TARGET" \
  --output "$WORK/lexicon"
"$PYTHON" data_prep/build_candidates.py --lexicon "$WORK/lexicon" --output "$WORK/candidates.npz" \
  --source-dictionary "$BIN/dict.$SOURCE.txt" --target-dictionary "$BIN/dict.$TARGET.txt" \
  >"$WORK/candidates.log"
shown=("${names[0]}")
if ((${#names[@]} > 1)); then shown+=("${names[-1]}"); fi
lines_of checkpoints lab files checkpoints/checkpoint_best.pt "${shown[@]}"
"$PYTHON" -m fairseq_outlayers inspect "${checkpoints[@]}" --names "${shown[@]}" \
  --source "$TEXT/test.$SOURCE" --reference "$TEXT/test.$TARGET" --output "$WORK/page.html" \
  --candidates "$WORK/candidates.npz" --candidate-frequent 300 --unk-replacement copy \
  2>"$WORK/page.log" || failed "$WORK/page.log"
lab report >"$WORK/report.log" 2>&1 || failed "$WORK/report.log"
made "$WORK/report.html (the three runs, with commands)"
took
