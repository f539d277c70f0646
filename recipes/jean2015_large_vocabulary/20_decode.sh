#!/usr/bin/env bash
# Translates the dev and the test set in every way that the ledger does not hold yet: first over
# candidate lists of several sizes, then with the size that is best on the dev set.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

status=0
mapfile -t curves < <(ask curve_decodings)
lab run --these "${curves[@]}" || status=$?
step "K and K' from here on: $(ask choice)"
mapfile -t all < <(ask all_decodings)
lab run --these "${all[@]}" || status=$?
exit "$status"
