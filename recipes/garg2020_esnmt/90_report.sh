#!/usr/bin/env bash
# The table of everything in the ledger, the paper's claims, and the plots (they need matplotlib).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
here=$(dirname "${BASH_SOURCE[0]}")

step "report"
# shellcheck disable=SC2086 # SEEDS is a list
"$PYTHON" recipes/report.py "$LEDGER" --title "Multi30k $SOURCE-$TARGET: echo state translation" \
  --arms "${ALL_ARMS[@]}" --seeds $SEEDS

step "claims"
"$PYTHON" "$here/claims.py" "$LEDGER"

step "plots"
if "$PYTHON" -c 'import matplotlib' 2>/dev/null; then
  "$PYTHON" "$here/plots.py" "$LEDGER"
else
  printf '  not drawn: %s has no matplotlib (pip install ".[report]")\n' "$PYTHON"
fi
