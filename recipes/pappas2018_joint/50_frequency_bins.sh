#!/usr/bin/env bash
# METEOR of the translation arms by how often training has seen a word: a table for each direction.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/settings.sh"

for direction in $DIRECTIONS; do
  step "frequency bins, $direction"
  # shellcheck disable=SC2046 # a list
  found=$(run_files test.tokenised.hyp \
    --arms $(arms_of translation "$direction"))
  # shellcheck disable=SC2046 # a list
  references=$(run_files test.tokenised.ref \
    --arms $(arms_of translation "$direction"))
  [[ -n $references ]] || found=
  case ${direction#*-}:$found in
    *:) made "nothing: no translations" && continue ;;
    de:* | en:*) ;;
    *) made "nothing: METEOR has no parameters for ${direction#*-}" && continue ;;
  esac
  mapfile -t hypotheses <<<"$found"
  bins=("$PYTHON" -m fairseq_outlayers frequency-bins --hypothesis "${hypotheses[@]}"
    --reference "${references%%$'\n'*}" --training-text "$(training_text "$direction")"
    --language "${direction#*-}")
  output=$RESULTS/frequency_bins.$direction
  "${bins[@]}" >"$output.txt"
  "${bins[@]}" --json >"$output.json"
  made "$output.txt" "$output.json"
done
