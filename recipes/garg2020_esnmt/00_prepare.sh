#!/usr/bin/env bash
# Multi30k: download, tokenize, lower-case, segment, binarize.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

multi30k_lowercase
segment_bpe "$TOKENIZED" "$TEXT" "$BPE_MERGES" "$SOURCE" "$TARGET"
binarize "$SOURCE" "$TARGET" "$TEXT/train" "$TEXT/valid" "$TEXT/test" "$BIN"
