#!/usr/bin/env bash
# A table for each set of arms and direction, the verdict on every claim, and the figures.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

for set in "${ALL_SETS[@]}"; do
  for direction in $(directions_of "$set"); do
    step "$set, $direction"
    # shellcheck disable=SC2046,SC2086 # lists
    "$PYTHON" recipes/report.py "$LEDGER" --only --output "$RESULTS/$set.$direction" \
      --title "Pappas et al. (2018), $set, $direction" \
      --arms $(arms_of "$set" "$direction") --seeds $SEEDS
  done
done

step "claims"
note=
if [[ $SETTING == multi30k ]]; then
  note="**Multi30k is far below the paper's data** (29 thousand sentence pairs, not millions; models a"
  note+=" quarter as wide): a failed inequality is evidence about scale, not a refutation."
fi
training_texts=()
for direction in $DIRECTIONS; do
  training_texts+=("$direction=$(training_text "$direction")")
done
# shellcheck disable=SC2086 # lists
"$PYTHON" "$HERE/summarise.py" "$LEDGER" --directions $DIRECTIONS \
  --vocabulary "$VOCABULARY" --vocabularies $VOCABULARIES \
  --sampling-vocabulary "$SAMPLING_VOCABULARY" --shares $SHARES \
  --joint-dims $JOINT_DIMS --sweep-dims $SWEEP_DIMS --depths $DEPTHS --layers "$LAYERS" \
  --training-texts "${training_texts[@]}" --note "$note"
