#!/usr/bin/env bash
# For every language pair and vocabulary of the arms: tokenize, segment, binarize.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

CASE=()
if [[ $SETTING == multi30k ]]; then
  CASE=(--lowercase)
  download multi30k "$WORK/raw"
fi

# prepare_words PAIR FOLDER
prepare_words() {
  local pair=$1 folder=$2 split filter
  step "tokenize $pair"
  mkdir -p "$folder"
  for split in train valid test; do
    filter=()
    # The authors' limit; a test set keeps every line.
    if [[ $split == train ]]; then filter=(--max-length 50 --drop-empty); fi
    tokenize "$(ask raw_prefix "$pair" "$split")" "$folder/$split" "${pair%-*}" "${pair#*-}" \
      "${CASE[@]}" "${filter[@]}"
  done
}

needed=$(ask data_needed)
while IFS=$'\t' read -r pair vocabulary text binary; do
  words=$(ask text_folder "$pair" words)
  prepare_words "$pair" "$words"
  if [[ $vocabulary != words ]]; then
    segment_bpe "$words" "$text" "${vocabulary#bpe}" "${pair%-*}" "${pair#*-}"
  fi
  binarize "${pair%-*}" "${pair#*-}" "$text/train" "$text/valid" "$text/test" "$binary"
done <<<"$needed"
