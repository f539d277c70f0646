#!/usr/bin/env bash
# Training speed and memory of the arms, taking turns: a few updates each, round after round.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

measure_speed "$BIN" stock_lstm luong_linear luong_tied
