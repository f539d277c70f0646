#!/usr/bin/env bash
# What candidate lists allow (coverage of references, recall of the full search's translations), and
# their n-best translations scored over all words, beside the renormalised scores.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
mkdir -p "$RESULTS"
large=$(bin_of large) chosen=$(choice)

# coverage NAME SOURCE-TEXT TARGET-TEXT: a table by K and K'.
coverage() {
  step "$1"
  # shellcheck disable=SC2046 # lists
  "$PYTHON" data_prep/build_candidates.py --lexicon "$LEXICON" --output "$WORK/unused.npz" \
    --source-dictionary "$large/dict.$SOURCE.txt" --target-dictionary "$large/dict.$TARGET.txt" \
    --dev-source "$2" --dev-target "$3" --report-frequent $(sorted "$FREQUENT") \
    --report-per-word $(sorted "$PER_WORD") | sed -n '/target tokens/,/^wrote/ { /^wrote/!p }' \
    >"$RESULTS/$1.md"
  rm -f "$WORK/unused.npz"
  made "$RESULTS/$1.md"
}
sorted() { tr ' ' '\n' <<<"$1" | sort -n | uniq; }

for split in valid test; do
  coverage "coverage.$split" "$TOKENIZED/$split.$SOURCE" "$TOKENIZED/$split.$TARGET"
done
found=$(run_files test.tokenised.hyp --names --arms full lv)
while IFS== read -r name file && [[ -n $file ]]; do
  # <unk> is in every list, but no word of the dictionary.
  sed 's/<unk>//g' "$file" >"$WORK/recall.txt"
  coverage "recall.$name" "$TOKENIZED/test.$SOURCE" "$WORK/recall.txt"
done <<<"$found"

step "scores over all words of lv.$chosen.nbest"
checkpoint=$(checkpoint_of lv)
if [[ -z $checkpoint ]]; then
  made "nothing: lv was not run here"
  exit
fi
"$PYTHON" "$HERE/rescore.py" "$LEDGER" --arm "lv.$chosen.nbest" --full lv --seed "$SEED" \
  --data "$large" --checkpoint "$checkpoint" --languages "$SOURCE" "$TARGET" \
  --reference "$TOKENIZED/test.$TARGET" --work "$WORK/rescoring" --output "$RESULTS/rescoring"
