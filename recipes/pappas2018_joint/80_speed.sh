#!/usr/bin/env bash
# Training speed by share of the classes: the arms take turns, a few large batches each.
# Needs the data of the set sampling: 00_prepare.sh with it among SETS.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

step "speed, $SPEED_ROUNDS rounds of $SPEED_UPDATES updates"
lab speed
