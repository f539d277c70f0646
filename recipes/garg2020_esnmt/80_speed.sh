#!/usr/bin/env bash
# Training speed and memory of trained and frozen models, in alternating short runs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

step "speed, $SPEED_ROUNDS rounds of $SPEED_UPDATES updates"
lab speed
step "size of checkpoints"
"$PYTHON" -m "recipes.$RECIPE.checkpoint_sizes"
