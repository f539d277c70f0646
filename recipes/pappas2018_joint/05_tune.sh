#!/usr/bin/env bash
# Every layer with subwords in both directions, and both baselines and a joint model with words, with several learning
# rates in short runs, compared by validation perplexity. The chosen rates are in arms.py.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lines_of runs ask tuning_arms
SEEDS=1 lab run --these "${runs[@]}"
