#!/usr/bin/env bash
# Coverage of references by candidate lists, recall of the full search's translations, and n-best
# translations scored over all words.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

mkdir -p "$RESULTS"

# coverage NAME SOURCE-TEXT TARGET-TEXT: writes a table by K and K'.
coverage() {
  step "$1"
  into "$RESULTS/$1.md" covered "${@:2}"
  rm -f "$WORK/unused.npz"
  made "$RESULTS/$1.md"
}
covered() {
  # shellcheck disable=SC2046 # lists
  "$PYTHON" data_prep/build_candidates.py --lexicon "$LEXICON" --output "$WORK/unused.npz" \
    --source-dictionary "$ALL_WORDS/dict.$SOURCE.txt" \
    --target-dictionary "$ALL_WORDS/dict.$TARGET.txt" \
    --per-word "$(sorted "$PER_WORD 1" | tail -n 1)" \
    --dev-source "$1" --dev-target "$2" --report-frequent $(sorted "$FREQUENT") \
    --report-per-word $(sorted "$PER_WORD") | sed -n '/target tokens/,/^wrote/ { /^wrote/!p }'
}
sorted() { tr ' ' '\n' <<<"$1" | sort -n | uniq; }

for split in valid test; do
  coverage "coverage.$split" "$TOKENIZED/$split.$SOURCE" "$TOKENIZED/$split.$TARGET"
done
lines_of named lab files --names test.tokenised.hyp full lv # ARM=FILE
for pair in "${named[@]}"; do
  # <unk> is in every list, but not a word of the dictionary.
  sed 's/<unk>//g' "${pair#*=}" >"$WORK/recall.txt"
  coverage "recall.${pair%%=*}" "$TOKENIZED/test.$SOURCE" "$WORK/recall.txt"
done

step "scores over all words"
"$PYTHON" -m "recipes.$RECIPE.rescore"
