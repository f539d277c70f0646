#!/usr/bin/env bash
# Training speed and memory of the four settings, taking turns: a few updates each, round after round.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

step "speed, $SPEED_ROUNDS rounds of $SPEED_UPDATES updates"
lab speed
