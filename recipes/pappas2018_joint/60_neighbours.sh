#!/usr/bin/env bash
# Nearest neighbours of some words in the input and output spaces, tied against joint: the paper's
# Table 1 and Figure 1.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

step "neighbours, $FIRST_DIRECTION"
lines_of arms ask several "$FIRST_DIRECTION" tied "$SMALL_JOINT"
lines_of checkpoints lab files checkpoints/checkpoint_best.pt "${arms[@]}"
if ((${#checkpoints[@]} == 0)); then
  made "nothing: no arm was run"
  exit
fi
pair=$(ask pair_of "$FIRST_DIRECTION")
# shellcheck disable=SC2086 # a list
into "$RESULTS/neighbours.txt" "$PYTHON" -m fairseq_outlayers neighbours "${checkpoints[@]}" \
  --data "$(ask binary_folder "$pair" "$VOCABULARY")" --words $NEIGHBOURS_OF
made "$RESULTS/neighbours.txt"
