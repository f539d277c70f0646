#!/usr/bin/env bash
# Studies of word vectors of the trained models: transform gates, principal components and nearest
# neighbours, each as a table and as JSON for 90_report.sh.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# find_checkpoints MODEL...: sets CHECKPOINTS, the best of every seed on LOOK_INTO.
find_checkpoints() {
  lines_of CHECKPOINTS lab files --all-seeds checkpoints/checkpoint_best.pt "${@/#/$LOOK_INTO.}"
  ((${#CHECKPOINTS[@]})) || made "nothing: none of $* was run on $LOOK_INTO"
}

# look NAME COMMAND...: writes the output of a command to RESULTS/NAME.DATA.txt and .json.
look() {
  local output=$RESULTS/$1.$LOOK_INTO
  shift
  into "$output.json" "$PYTHON" -m fairseq_outlayers "$@" --json
  into "$output.txt" "$PYTHON" -m fairseq_outlayers "$@"
  made "$output.txt" "$output.json"
}

# The paper's two configurations, and the original, which has gates only at the input.
for models in "morphsum_re_rw morphsum_E2 morphsum_original" \
  "sylconcat_re_rw sylconcat_EP2 sylconcat_original"; do
  step "transform gates, ${models%%_*}"
  # shellcheck disable=SC2086 # a list
  find_checkpoints $models
  if ((${#CHECKPOINTS[@]})); then
    look "transform_gates.${models%%_*}" transform-gates "${CHECKPOINTS[@]}"
  fi
done

step "principal components"
find_checkpoints word_original morphsum_none sylconcat_none charcnn_none
if ((${#CHECKPOINTS[@]})); then
  look principal_components principal-components "${CHECKPOINTS[@]}"
fi

step "nearest neighbours"
find_checkpoints word_re morphsum_re_rw sylconcat_re_rw charcnn_original
words=()
for word in $NEIGHBOURS_OF; do
  if grep -q "^$word " "$(ask folder_of "$LOOK_INTO")/dict.txt"; then words+=("$word"); fi
done
if ((${#CHECKPOINTS[@]} && ${#words[@]} == 0)); then
  made "nothing: the dictionary has none of $NEIGHBOURS_OF"
elif ((${#CHECKPOINTS[@]})); then
  look neighbours neighbours "${CHECKPOINTS[@]}" --words "${words[@]}"
fi
