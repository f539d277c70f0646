#!/usr/bin/env bash
# Trains and scores every arm that the ledger does not hold yet, by priority.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

failed=()
for SEED in $SEEDS; do
  for name in "${ARMS[@]}"; do
    define_arm "$name"
    step "arm $name, seed $SEED"
    # One broken arm must not cost the others.
    run_arm "$name" "$WORDS" -- "${OPTIONS[@]}" || failed+=("$name")
  done
done
((${#failed[@]} == 0)) || die "failed: ${failed[*]} (their logs are in $WORK/runs)"
