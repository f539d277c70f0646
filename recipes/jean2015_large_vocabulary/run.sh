#!/usr/bin/env bash
# All steps of this recipe, one after the other; `python -m recipes.lab settings jean2015_large_vocabulary`
# lists what the environment can change.
set -euo pipefail

here=$(dirname "${BASH_SOURCE[0]}")
"$here/00_prepare.sh"
# What there is gets reported, whatever failed before.
status=0
for step in 10_arms 20_decode 40_candidates 80_timing 90_report; do
  "$here/$step.sh" || status=$?
done
exit "$status"
