#!/usr/bin/env bash
# Short runs among which learning rate, range of the start and scales are chosen, as many for each
# model, by validation perplexity. The choice itself stands in settings.sh.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

GENERATE=
ARM_OPTIONS=(--data "$BIN" --score tuning)
SEEDS=1
read -ra TUNED <<<"${TUNE:-${TUNING[*]}}"
run_arms "${TUNED[@]}"
