#!/usr/bin/env bash
# Short runs among which learning rate, range of the start and scales are chosen, as many for each
# model, by validation perplexity. The choice itself stands in arms.py.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

mapfile -t runs < <(ask tuning_arms)
SEEDS=1 lab run --these "${runs[@]}"
