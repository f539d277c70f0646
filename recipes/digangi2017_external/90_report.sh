#!/usr/bin/env bash
# Unknown words and examples of every size, then BLEU against the size, and the paper's claims.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

step "unknown words"
mkdir -p "$RESULTS"
vectors=${KINDS[0]}
for size in $SIZES; do
  if [[ ! -e $(table_of "$size" "$vectors").npy ]]; then continue; fi
  translations=("reference=$TOKENIZED/test.$TARGET")
  found=$(run_files test.tokenised.hyp --names \
    --arms "baseline.$size" "mix_sum.$size.$vectors" "mix_gate.$size.$vectors" \
    "only_external.$size.$vectors")
  while IFS== read -r name file && [[ -n $file ]]; do
    translations+=("${name%%.*}=$file")
  done <<<"$found"
  "$PYTHON" -m fairseq_outlayers external-words \
    --dictionary "$(bin_of "$size" "$vectors")/dict.$SOURCE.txt" \
    --internal-vocabulary "$(internal_vocabulary "$size" "$vectors")" \
    --external-embeddings "$(table_of "$size" "$vectors").npy" --source "$TOKENIZED/test.$SOURCE" \
    --translations "${translations[@]}" >"$RESULTS/unknown_words.$size.md"
  made "$RESULTS/unknown_words.$size.md"
done

step "report"
# shellcheck disable=SC2086 # SIZES and SEEDS are lists
"$PYTHON" recipes/report.py "$LEDGER" --title "External monolingual embeddings" --no-bootstrap \
  --arms "${ALL_ARMS[@]}" --seeds $SEEDS
# shellcheck disable=SC2086
"$PYTHON" recipes/digangi2017_external/claims.py "$LEDGER" --arms "${ALL_ARMS[@]}" --seeds $SEEDS
