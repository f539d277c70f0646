#!/usr/bin/env bash
# Training speed by share of the classes: the arms take turns, a few large batches each.
# Needs the data of the set sampling: 00_prepare.sh with it among SETS.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

BATCH=(--max-tokens "$SPEED_TOKENS")
# shellcheck disable=SC2046 # a list
measure_speed "$(binary_folder "$(pair_of "$FIRST_DIRECTION")" "$SAMPLING_VOCABULARY")" \
  $(speed_arms)
