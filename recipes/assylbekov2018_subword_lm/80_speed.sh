#!/usr/bin/env bash
# Training speed and memory of models on the whole Treebank, in alternating short runs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

step "speed, $SPEED_ROUNDS rounds of $SPEED_UPDATES updates"
lab speed
