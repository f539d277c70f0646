#!/usr/bin/env bash
# The baseline with several learning rates at each size, judged by validation perplexity. The choice
# itself stands in settings.sh.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

GENERATE=
SEEDS=1
read -ra TUNED <<<"${TUNE:-${TUNING[*]}}"
run_arms "${TUNED[@]}"
