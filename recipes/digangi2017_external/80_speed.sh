#!/usr/bin/env bash
# Training speed and memory of the four settings, taking turns: a few updates each, round after round.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

size=${SIZES##* } vectors=${KINDS[0]}
measure_speed "$(bin_of "$size" "$vectors")" "baseline.$size" "mix_sum.$size.$vectors" \
  "mix_gate.$size.$vectors" "only_external.$size.$vectors"
