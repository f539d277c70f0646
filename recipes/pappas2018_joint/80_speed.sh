#!/usr/bin/env bash
# Training speed by share of the classes: the arms take turns, a few large batches each.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

step "speed, $SPEED_ROUNDS rounds of $SPEED_UPDATES updates of $SPEED_TOKENS tokens"
if [[ -e $RESULTS/speed.json && -z ${FORCE:-} ]]; then
  made "$RESULTS/speed.json (there already; FORCE=1 measures again)"
  exit
fi
data=$(binary_folder "$(pair_of "$FIRST_DIRECTION")" "$SAMPLING_VOCABULARY")
[[ -d $data ]] || die "no $data: run 00_prepare.sh with the set sampling among SETS"
BATCH=(--max-tokens "$SPEED_TOKENS")
groups=()
for name in $(speed_arms); do
  define_arm "$name"
  groups+=(-- "$name" "${OPTIONS[@]}")
done
"$PYTHON" recipes/speed.py --data "$data" --runs "$WORK/speed" --output "$RESULTS/speed.json" \
  --rounds "$SPEED_ROUNDS" --updates "$SPEED_UPDATES" "${groups[@]}"
