#!/usr/bin/env bash
# The table of everything in the ledger, and what it says about the paper's claims.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

step "report"
# shellcheck disable=SC2086 # SEEDS is a list
"$PYTHON" recipes/report.py "$LEDGER" --title "Subword-aware language models" --no-bootstrap \
  --arms "${ARMS[@]}" --seeds $SEEDS

step "claims"
declare -A texts=()
for arm in "${ARMS[@]}"; do
  data=$(data_of "$arm")
  texts[$data]=$data=$(training_text "$data")
done
"$PYTHON" recipes/assylbekov2018_subword_lm/claims.py "$LEDGER" --texts "${texts[@]}"
