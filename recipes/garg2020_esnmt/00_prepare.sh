#!/usr/bin/env bash
# Multi30k: fetch, tokenise in lower case, segment, binarize.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

download multi30k "$RAW"

step "tokenise, in lower case"
mkdir -p "$TOKENIZED"
for split in train:train valid:val test:test_2016_flickr; do
  tokenize "$RAW/${split#*:}" "$TOKENIZED/${split%:*}" "$SOURCE" "$TARGET" --lowercase
done
segment_bpe "$TOKENIZED" "$TEXT" "$BPE_MERGES" "$SOURCE" "$TARGET"
binarize "$SOURCE" "$TARGET" "$TEXT/train" "$TEXT/valid" "$TEXT/test" "$BIN"
