#!/usr/bin/env bash
# Training speed and memory of the four settings, taking turns: a few updates each, round after round.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

step "speed, $SPEED_ROUNDS rounds of $SPEED_UPDATES updates"
if [[ -e $RESULTS/speed.json && -z ${FORCE:-} ]]; then
  made "$RESULTS/speed.json (there already; FORCE=1 measures again)"
  exit
fi
size=${SIZES##* }
groups=()
for name in "baseline.$size" "mix_sum.$size.${KINDS[0]}" "mix_gate.$size.${KINDS[0]}" \
  "only_external.$size.${KINDS[0]}"; do
  define_arm "$name"
  groups+=(-- "$name" "${OPTIONS[@]}")
done
"$PYTHON" recipes/speed.py --data "$DATA" --runs "$WORK/speed" --output "$RESULTS/speed.json" \
  --rounds "$SPEED_ROUNDS" --updates "$SPEED_UPDATES" "${groups[@]}"
