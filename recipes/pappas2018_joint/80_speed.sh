#!/usr/bin/env bash
# Training speed by share of the classes, in alternating short runs with large batches.
# Needs the data of the set sampling: run 00_prepare.sh with it in SETS.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

step "speed, $SPEED_ROUNDS rounds of $SPEED_UPDATES updates"
lab speed
