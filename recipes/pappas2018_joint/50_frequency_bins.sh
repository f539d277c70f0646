#!/usr/bin/env bash
# METEOR of the translation arms by training count of the words: a table for each direction.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

for direction in $DIRECTIONS; do
  step "frequency bins, $direction"
  lines_of arms ask translation_arms "$direction"
  lines_of hypotheses lab files test.tokenised.hyp "${arms[@]}"
  lines_of references lab files test.tokenised.ref "${arms[@]}"
  case ${direction#*-}:${references[*]:+${hypotheses[*]}} in
    *:) made "nothing: no translations" && continue ;;
    de:* | en:*) ;;
    *) made "nothing: METEOR has no parameters for ${direction#*-}" && continue ;;
  esac
  bins=("$PYTHON" -m fairseq_outlayers frequency-bins --hypothesis "${hypotheses[@]}"
    --reference "${references[0]}" --training-text "$(ask training_text "$direction")"
    --language "${direction#*-}")
  output=$RESULTS/frequency_bins.$direction
  into "$output.txt" "${bins[@]}"
  into "$output.json" "${bins[@]}" --json
  made "$output.txt" "$output.json"
done
