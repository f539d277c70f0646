#!/usr/bin/env bash
# Unknown words and examples for every size, BLEU by size, and the verdicts on the paper's claims.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

step "unknown words"
mkdir -p "$RESULTS"
vectors=${VECTORS%% *}
for size in $SIZES; do
  table=$(ask table_of "$size" "$vectors")
  if [[ ! -e $table.npy ]]; then continue; fi
  translations=("reference=$TOKENIZED/test.$TARGET")
  lines_of arms ask at_size "$size"
  lines_of named lab files --names test.tokenised.hyp "${arms[@]}" # ARM=FILE
  for pair in "${named[@]}"; do
    arm=${pair%%=*}
    translations+=("${arm%%.*}=${pair#*=}")
  done
  into "$RESULTS/unknown_words.$size.md" "$PYTHON" -m fairseq_outlayers external-words \
    --dictionary "$(ask bin_of "$size" "$vectors")/dict.$SOURCE.txt" \
    --internal-vocabulary "$(ask internal_vocabulary "$size" "$vectors")" \
    --external-embeddings "$table.npy" --source "$TOKENIZED/test.$SOURCE" \
    --translations "${translations[@]}"
  made "$RESULTS/unknown_words.$size.md"
done

lab report
