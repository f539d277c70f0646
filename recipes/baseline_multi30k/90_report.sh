#!/usr/bin/env bash
# The table of everything in the ledger, with fairseq's own model as the row to compare with.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

step "report"
# shellcheck disable=SC2086 # SEEDS is a list
"$PYTHON" recipes/report.py "$LEDGER" --title "Multi30k en-de: baseline" \
  --arms "${ALL_ARMS[@]}" --seeds $SEEDS
