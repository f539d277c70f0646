#!/usr/bin/env bash
# All steps of this recipe, one after the other; `python -m recipes.lab settings digangi2017_external`
# lists what the environment can change.
set -euo pipefail

here=$(dirname "${BASH_SOURCE[0]}")
"$here/00_prepare.sh"
# What there is gets reported, whatever failed before.
status=0
for step in 05_tune 10_arms 80_speed 90_report; do
  "$here/$step.sh" || status=$?
done
exit "$status"
