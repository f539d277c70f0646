#!/usr/bin/env bash
# For every language pair and vocabulary that the arms need: tokenise, segment, binarize.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

if [[ $SETTING == multi30k ]]; then download multi30k "$WORK/raw"; fi

# "PAIR VOCABULARY" of every arm, each once.
needed() {
  local name direction vocabulary
  for name in $(all_arms); do
    IFS=. read -r direction vocabulary _ <<<"$name"
    echo "$(pair_of "$direction") $vocabulary"
  done | sort -u
}

prepare_words() {
  local pair=$1 folder split filter
  folder=$(text_folder "$pair" words)
  step "tokenise $pair"
  mkdir -p "$folder"
  for split in train valid test; do
    filter=()
    # The authors' limit; a test set keeps every line.
    if [[ $split == train ]]; then filter=(--max-length 50 --drop-empty); fi
    tokenize "$(raw_prefix "$pair" "$split")" "$folder/$split" "${pair%-*}" "${pair#*-}" \
      "${CASE[@]}" "${filter[@]}"
  done
}

needed | while read -r pair vocabulary; do
  prepare_words "$pair"
  text=$(text_folder "$pair" "$vocabulary")
  if [[ $vocabulary != words ]]; then
    segment_bpe "$(text_folder "$pair" words)" "$text" "${vocabulary#bpe}" "${pair%-*}" "${pair#*-}"
  fi
  binarize "${pair%-*}" "${pair#*-}" "$text/train" "$text/valid" "$text/test" \
    "$(binary_folder "$pair" "$vocabulary")"
done
