#!/usr/bin/env bash
# METEOR of the translation arms by how often training has seen a word: a table for each direction.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

for direction in $DIRECTIONS; do
  step "frequency bins, $direction"
  # shellcheck disable=SC2046 # a list
  "$PYTHON" "$HERE/frequency_bins.py" "$LEDGER" --arms $(arms_of translation "$direction") \
    --training-text "$(training_text "$direction")" --language "${direction#*-}" \
    --output "$RESULTS/frequency_bins.$direction"
done
