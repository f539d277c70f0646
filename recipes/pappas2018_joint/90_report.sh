#!/usr/bin/env bash
# The table of everything in the ledger, compared with its first row.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

step "report"
# shellcheck disable=SC2046,SC2086 # lists
"$PYTHON" recipes/report.py "$LEDGER" --title "Pappas et al. (2018)" \
  --arms $(all_arms) --seeds $SEEDS
