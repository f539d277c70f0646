#!/usr/bin/env bash
# Seconds a word of the ways to decode, tokens a second of training by size of the vocabulary, and
# what reshuffling costs. What is compared takes turns.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
mkdir -p "$RESULTS"

# measured FILE: is it there already?
measured() {
  [[ -e $1 && ${FORCE:-0} != 1 ]] || return 1
  made "$1 (there already; FORCE=1 measures again)"
}

large=$(bin_of large)
[[ -d $large ]] || die "no $large: 00_prepare.sh makes it"

step "reshuffling"
measured "$RESULTS/reshuffling.json" ||
  "$PYTHON" "$HERE/reshuffling.py" "$large" --languages "$SOURCE" "$TARGET" \
    --partition-size "$TAU" --batch-size "$BATCH_SENTENCES" --output "$RESULTS/reshuffling.json"

# padded TIMES: the large data with so many times as many target words, of which no text has one.
padded() {
  local words folder=$WORK/bin.large.times$1
  words=$(wc -l <"$large/dict.$TARGET.txt")
  if [[ ! -d $folder ]]; then
    { cat "$large/dict.$TARGET.txt" && seq -f 'unused%.0f 0' "$((words * ($1 - 1)))"; } \
      >"$folder.dict"
    binarize "$SOURCE" "$TARGET" "$TOKENIZED/train" "$TOKENIZED/valid" "$TOKENIZED/test" "$folder" \
      --srcdict "$large/dict.$SOURCE.txt" --tgtdict "$folder.dict" >&2
  fi
  echo "$folder"
}

step "training, $SPEED_ROUNDS rounds of $SPEED_UPDATES updates"
if ! measured "$RESULTS/training_speed.json"; then
  groups=()
  for name in lv lv_reshuffle lv_authors shortlist full; do
    define_arm "$name"
    groups+=(-- "$name" "$(data_of "$name")" "${OPTIONS[@]}")
  done
  define_arm lv
  for times in 2 4; do
    folder=$(padded "$times")
    groups+=(-- "lv.times$times" "$folder" "${OPTIONS[@]}")
  done
  "$PYTHON" recipes/speed.py --data "$large" --runs "$WORK/training_speed" \
    --output "$RESULTS/training_speed.json" --rounds "$SPEED_ROUNDS" --updates "$SPEED_UPDATES" \
    "${groups[@]}"
fi

# timing_data MODEL: the beginning of the test set, binarized for it.
timing_data() {
  local data folder language text=$WORK/timing
  data=$(data_of "$1")
  folder=$data.timing$TIMING_SENTENCES
  for language in "$SOURCE" "$TARGET"; do
    head -n "$TIMING_SENTENCES" "$TOKENIZED/test.$language" >"$text.$language"
  done
  if [[ ! -d $folder ]]; then
    preprocess "$folder" "$text.$SOURCE" "$text.$TARGET" -- --source-lang "$SOURCE" \
      --target-lang "$TARGET" --testpref "$text" --srcdict "$data/dict.$SOURCE.txt" \
      --tgtdict "$data/dict.$TARGET.txt" >&2
  fi
  echo "$folder"
}

step "decoding, $TIMING_ROUNDS rounds"
groups=() chosen=$(choice)
# One sentence at a time, as in the paper: what a sentence costs, not how well a batch fits.
for name in shortlist lv "lv.$chosen" "lv.$chosen.common"; do
  checkpoint=$(checkpoint_of "${name%%.*}")
  if [[ -z $checkpoint ]]; then
    made "not measured, for ${name%%.*} was not run here: $name"
    continue
  fi
  define_arm "$name"
  read -ra options <<<"$GENERATE"
  groups+=(-- "$name" "$(timing_data "$name")" --path "$checkpoint" "${options[@]}" --batch-size 1)
done
if ((${#groups[@]})) && ! measured "$RESULTS/decoding_speed.json"; then
  "$PYTHON" "$HERE/decoding_speed.py" --runs "$WORK/decoding_speed" --rounds "$TIMING_ROUNDS" \
    --output "$RESULTS/decoding_speed.json" "${groups[@]}"
fi
