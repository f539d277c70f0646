#!/usr/bin/env bash
# Trains, translates and scores every model that the ledger does not hold yet, by priority; then tunes
# those that go on with fixed embeddings.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

trained=() frozen=() status=0
for name in "${ARMS[@]}"; do
  define_arm "$name"
  if [[ $name == *.frozen ]]; then frozen+=("$name"); else trained+=("$name"); fi
done
(run_arms "${trained[@]}") || status=$?
for SEED in $SEEDS; do
  ready=()
  for name in "${frozen[@]}"; do
    if [[ -n $(checkpoint_of "${name%.frozen}") ]]; then
      ready+=("$name")
    else
      printf '  not started, for it goes on from %s: %s, seed %s\n' "${name%.frozen}" "$name" "$SEED"
    fi
  done
  (SEEDS=$SEED && run_arms "${ready[@]}") || status=$?
done
exit "$status"
