#!/usr/bin/env bash
# Run every decoding that is not in the ledger on the dev and test sets: first over candidate lists
# of several sizes, then with the size that is best on the dev set.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

status=0
lines_of curves ask curve_decodings
lab run --these "${curves[@]}" || status=$?
((status < 128)) || exit "$status" # interrupted (130) or killed
step "K and K' from here on: $(ask choice)"
lines_of all ask all_decodings
lab run --these "${all[@]}" || status=$?
exit "$status"
