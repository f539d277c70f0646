#!/usr/bin/env bash
# Training speed by share of the classes, in alternating short runs with large batches.
# With the vocabulary of the set sampling, or of the first of ARMS.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

step "speed, $SPEED_ROUNDS rounds of $SPEED_UPDATES updates"
lab speed
