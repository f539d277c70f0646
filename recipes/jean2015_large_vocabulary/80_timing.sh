#!/usr/bin/env bash
# Decoding time per word, training speed by size of the vocabulary, and the cost of reshuffling, in
# alternating runs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

mkdir -p "$RESULTS"
[[ -d $ALL_WORDS ]] || die "no $ALL_WORDS: run 00_prepare.sh first"

step "reshuffling"
"$PYTHON" -m "recipes.$RECIPE.reshuffling"

# The large data with a multiple of the target words; the added words do not occur in any text.
words=$(wc -l <"$ALL_WORDS/dict.$TARGET.txt")
sums=$(checksums "$ALL_WORDS/dict.$TARGET.txt")
padded_dictionary() {
  cat "$ALL_WORDS/dict.$TARGET.txt" && seq -f 'unused%.0f 0' "$((words * ($1 - 1)))"
}
for times in 2 4; do
  folder=$(ask padded "$times")
  if ! newer "$folder.dict" "$ALL_WORDS/dict.$TARGET.txt" ||
    ! made_with "$folder.dict" "$sums"; then
    rm -rf "$folder" "$folder.dict.options"
    into "$folder.dict" padded_dictionary "$times"
    note_options "$folder.dict" "$sums"
  fi
  binarize "$SOURCE" "$TARGET" "$TOKENIZED/train" "$TOKENIZED/valid" "$TOKENIZED/test" "$folder" \
    --srcdict "$ALL_WORDS/dict.$SOURCE.txt" --tgtdict "$folder.dict"
done
step "training, $SPEED_ROUNDS rounds of $SPEED_UPDATES updates"
lab speed

# The beginning of the test set, binarized for both dictionaries.
for language in "$SOURCE" "$TARGET"; do
  head -n "$TIMING_SENTENCES" "$TOKENIZED/test.$language" >"$WORK/timing.$language"
done
for data in "$SHORT" "$ALL_WORDS"; do
  preprocess "$data.timing$TIMING_SENTENCES" "$WORK/timing.$SOURCE" "$WORK/timing.$TARGET" -- \
    --source-lang "$SOURCE" --target-lang "$TARGET" --testpref "$WORK/timing" \
    --srcdict "$data/dict.$SOURCE.txt" --tgtdict "$data/dict.$TARGET.txt"
done
step "decoding, $TIMING_ROUNDS rounds"
"$PYTHON" -m "recipes.$RECIPE.decoding_speed"
