#!/usr/bin/env bash
# All steps of this recipe, one after the other; `python -m recipes.lab settings baseline_multi30k`
# lists what the environment can change.
set -euo pipefail

here=$(dirname "${BASH_SOURCE[0]}")
"$here/00_prepare.sh"
# What there is gets reported, whatever failed before.
status=0
for step in 10_arms 80_speed 90_report; do
  "$here/$step.sh" || status=$?
done
exit "$status"
