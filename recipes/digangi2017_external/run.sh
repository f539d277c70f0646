#!/usr/bin/env bash
# All steps of this recipe; `python -m recipes.lab settings digangi2017_external` lists its
# settings.
set -euo pipefail

here=$(dirname "${BASH_SOURCE[0]}")
"$here/00_prepare.sh"
# The report is written even if a step fails.
status=0
for step in 05_tune 10_arms 80_speed 90_report; do
  "$here/$step.sh" || status=$?
done
exit "$status"
