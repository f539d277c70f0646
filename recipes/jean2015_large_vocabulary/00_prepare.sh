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
  files=("$PARALLEL"/{train,valid,test}.{"$SOURCE","$TARGET"})
  options=("$SOURCE" "$TARGET" "$(checksums "${files[@]}")")
  if ! newer "$TOKENIZED/train.$TARGET" "${files[@]}" ||
    ! made_with "$TOKENIZED/train" "${options[@]}"; then
    for file in "$PARALLEL/train.$SOURCE" "$PARALLEL/train.$TARGET"; do
      if tab=$(grep -a -n -m 1 $'\t' "$file"); then
        die "$file:${tab%%:*} has a tab: replace tabs by spaces"
      fi
    done
    rm -f "$TOKENIZED/train.options"
    cp "$PARALLEL"/{valid,test}."$SOURCE" "$PARALLEL"/{valid,test}."$TARGET" "$TOKENIZED"
    paste "$PARALLEL/train.$SOURCE" "$PARALLEL/train.$TARGET" | awk -F '\t' \
      -v source="$TOKENIZED/train.$SOURCE" -v target="$TOKENIZED/train.$TARGET.partial" '
      { words = split($1, a, " "); others = split($2, b, " ") }
      words && others && words <= 50 && others <= 50 { print $1 > source; print $2 > target; n++ }
      END { printf "  kept %d of %d pairs (both sides of 1 to 50 words)\n", n, NR }'
    mv "$TOKENIZED/train.$TARGET.partial" "$TOKENIZED/train.$TARGET"
    note_options "$TOKENIZED/train" "${options[@]}"
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
options=("${from[@]}")
if [[ -n $LEXICON_TABLE ]]; then
  from=(--table "$LEXICON_TABLE")
  options=("${from[@]}" "$(checksums "$LEXICON_TABLE")")
fi
if ! newer "$LEXICON" "${LEXICON_TABLE:-$TOKENIZED/train.$TARGET}" ||
  ! made_with "$LEXICON" "${options[@]}"; then
  "$PYTHON" data_prep/build_lexicon.py "${from[@]}" --output "$LEXICON"
  note_options "$LEXICON" "${options[@]}"
fi
made "$LEXICON"

step "candidate lists"
most=$(tr ' ' '\n' <<<"$PER_WORD 1" | sort -n | tail -n 1)
# LARGE chooses among folders of dictionaries, so others may be older.
options=("$most" "$(checksums "$ALL_WORDS"/dict.{"$SOURCE","$TARGET"}.txt)")
if ! newer "$CANDIDATES" "$LEXICON" "$ALL_WORDS/dict.$TARGET.txt" ||
  ! made_with "$CANDIDATES" "${options[@]}"; then
  "$PYTHON" data_prep/build_candidates.py --lexicon "$LEXICON" --output "$CANDIDATES" \
    --source-dictionary "$ALL_WORDS/dict.$SOURCE.txt" --target-dictionary "$ALL_WORDS/dict.$TARGET.txt" \
    --per-word "$most"
  note_options "$CANDIDATES" "${options[@]}"
fi
made "$CANDIDATES"
