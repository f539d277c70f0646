#!/usr/bin/env bash
# Translates the dev and the test set in every way that the ledger does not hold yet: first over
# candidate lists of several sizes, then with the size that is best on the dev set.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
ARM_SCRIPT=$HERE/decode.py

status=0
if ((${#DECODINGS[@]} == 0)); then
  # shellcheck disable=SC2046 # a list
  (run_arms $(curve_decodings)) || status=$?
fi
chosen=$(choice)
step "K and K' from here on: $chosen"
# shellcheck disable=SC2046 # a list
(run_arms $(all_decodings "$chosen")) || status=$?
exit "$status"
