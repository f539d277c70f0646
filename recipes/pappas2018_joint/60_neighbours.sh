#!/usr/bin/env bash
# Nearest neighbours of some words where models read them and where models write them: the paper's
# Table 1 and Figure 1, tied against joint.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

step "neighbours, $FIRST_DIRECTION"
arms=()
for model in tied "$SMALL_JOINT"; do arms+=("$(arm "$FIRST_DIRECTION" "$VOCABULARY" "$model")"); done
found=$(run_files checkpoints/checkpoint_best.pt --arms "${arms[@]}")
if [[ -z $found ]]; then
  made "nothing: no arm was run"
  exit
fi
mapfile -t checkpoints <<<"$found"
# shellcheck disable=SC2086 # a list
"$PYTHON" -m fairseq_outlayers neighbours --path "${checkpoints[@]}" \
  --data "$(binary_folder "$(pair_of "$FIRST_DIRECTION")" "$VOCABULARY")" \
  --words $NEIGHBOURS_OF >"$RESULTS/neighbours.txt"
made "$RESULTS/neighbours.txt"
