#!/usr/bin/env bash
# All steps of this recipe; `python -m recipes.lab settings jean2015_large_vocabulary` lists its
# settings.
set -euo pipefail

here=$(dirname "${BASH_SOURCE[0]}")
"$here/00_prepare.sh"
# The report is written even if a step fails.
status=0
for step in 10_arms 20_decode 40_candidates 80_timing 90_report; do
  "$here/$step.sh" || status=$?
done
exit "$status"
