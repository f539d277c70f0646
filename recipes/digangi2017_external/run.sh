#!/usr/bin/env bash
# All steps of this recipe, one after the other; settings.sh lists what the environment can change.
set -euo pipefail

here=$(dirname "${BASH_SOURCE[0]}")
"$here/00_prepare.sh"
# What there is gets reported, whatever failed before.
status=0
"$here/05_tune.sh" || status=$?
"$here/10_arms.sh" || status=$?
"$here/80_speed.sh" || status=$?
"$here/90_report.sh"
exit "$status"
