#!/usr/bin/env bash
# Tokenize (cased); binarize with a short and a large dictionary; align words and build candidate
# lists for the large dictionary.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# The paper's limit of 50 words per sentence in training.
if [[ $SETTING == multi30k ]]; then
  download multi30k "$RAW"
  step "tokenize, cased"
  mkdir -p "$TOKENIZED"
  tokenize "$RAW/train" "$TOKENIZED/train" "$SOURCE" "$TARGET" --max-length 50 --drop-empty
  tokenize "$RAW/val" "$TOKENIZED/valid" "$SOURCE" "$TARGET"
  tokenize "$RAW/test_2016_flickr" "$TOKENIZED/test" "$SOURCE" "$TARGET"
else
  step "text of $PARALLEL"
  mkdir -p "$TOKENIZED"
  for split in train valid test; do
    numbers=("$(wc -l <"$PARALLEL/$split.$SOURCE")" "$(wc -l <"$PARALLEL/$split.$TARGET")")
    if ((numbers[0] != numbers[1])); then
      die "$PARALLEL/$split.$SOURCE has ${numbers[0]} lines, $split.$TARGET ${numbers[1]}: sentence pairs are needed"
    fi
  done
  if ! newer "$TOKENIZED/train.$TARGET" "$PARALLEL"/{train,valid,test}.{"$SOURCE","$TARGET"}; then
    cp "$PARALLEL"/{valid,test}."$SOURCE" "$PARALLEL"/{valid,test}."$TARGET" "$TOKENIZED"
    paste "$PARALLEL/train.$SOURCE" "$PARALLEL/train.$TARGET" | awk -F '\t' \
      -v source="$TOKENIZED/train.$SOURCE" -v target="$TOKENIZED/train.$TARGET.partial" '
      { words = split($1, a, " "); others = split($2, b, " ") }
      NF == 2 && words && others && words <= 50 && others <= 50 { print $1 > source; print $2 > target }'
    mv "$TOKENIZED/train.$TARGET.partial" "$TOKENIZED/train.$TARGET"
  fi
  made "$TOKENIZED"
fi

# limits TARGET-WORDS SOURCE-WORDS: sets LIMITS for fairseq-preprocess; 0: no limit.
limits() {
  LIMITS=()
  if (($1)); then LIMITS+=(--nwordstgt "$1"); fi
  if (($2)); then LIMITS+=(--nwordssrc "$2"); fi
}
text=("$TOKENIZED/train" "$TOKENIZED/valid" "$TOKENIZED/test")
limits "$SHORTLIST" "$SOURCE_SHORTLIST"
binarize "$SOURCE" "$TARGET" "${text[@]}" "$SHORT" "${LIMITS[@]}"
limits "$LARGE" "$SOURCE_LARGE"
binarize "$SOURCE" "$TARGET" "${text[@]}" "$ALL_WORDS" "${LIMITS[@]}"

step "dictionary of translations"
from=(--source "$TOKENIZED/train.$SOURCE" --target "$TOKENIZED/train.$TARGET")
if [[ -n $LEXICON_TABLE ]]; then from=(--table "$LEXICON_TABLE"); fi
if ! newer "$LEXICON" "${LEXICON_TABLE:-$TOKENIZED/train.$TARGET}" ||
  ! made_with "$LEXICON" "${from[@]}"; then
  "$PYTHON" data_prep/build_lexicon.py "${from[@]}" --output "$LEXICON"
  note_options "$LEXICON" "${from[@]}"
fi
made "$LEXICON"

step "candidate lists"
most=$(tr ' ' '\n' <<<"$PER_WORD" | sort -n | tail -n 1)
if ! newer "$CANDIDATES" "$LEXICON" "$ALL_WORDS/dict.$TARGET.txt" ||
  ! made_with "$CANDIDATES" "$most"; then
  "$PYTHON" data_prep/build_candidates.py --lexicon "$LEXICON" --output "$CANDIDATES" \
    --source-dictionary "$ALL_WORDS/dict.$SOURCE.txt" --target-dictionary "$ALL_WORDS/dict.$TARGET.txt" \
    --per-word "$most"
  note_options "$CANDIDATES" "$most"
fi
made "$CANDIDATES"
