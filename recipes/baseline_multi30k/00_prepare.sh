#!/usr/bin/env bash
# Multi30k en-de: download, tokenize, lower-case, segment (SEGMENTATION=bpe), binarize.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

multi30k_lowercase
if [[ $SEGMENTATION == bpe ]]; then
  segment_bpe "$TOKENIZED" "$TEXT" "$BPE_MERGES" "$SOURCE" "$TARGET"
fi
binarize "$SOURCE" "$TARGET" "$TEXT/train" "$TEXT/valid" "$TEXT/test" "$BIN"
