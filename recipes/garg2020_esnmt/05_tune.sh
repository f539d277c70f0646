#!/usr/bin/env bash
# Short runs to choose learning rate, initialization range and scales by validation perplexity, 10
# to 12 for each model. The chosen values are in arms.py.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lines_of runs ask tuning_arms
SEEDS=1 lab run --these "${runs[@]}"
