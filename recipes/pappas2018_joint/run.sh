#!/usr/bin/env bash
# All steps of this recipe; `python -m recipes.lab settings pappas2018_joint` lists its
# settings.
set -euo pipefail

here=$(dirname "${BASH_SOURCE[0]}")
"$here/00_prepare.sh"
# The report is written even if a step fails.
status=0
for step in 10_arms 50_frequency_bins 60_neighbours 80_speed 90_report; do
  "$here/$step.sh" || status=$?
done
exit "$status"
