# Sourced by settings.sh: which models are trained and how they are decoded, each by priority.
#
#   ARMS="lv ..."               models to train, in this order (default: all of them)
#   DECODINGS="lv.unk2 ..."     ways to decode them (default: all of them)
#   TAU=2000 TAUS="500 8000"    words of a partition: of all arms but those of a tauN, and of these
#   FREQUENT="500 1000 ..."     K, and
#   PER_WORD="0 1 10 20"        K', of the two curves
#   DEFAULT_CHOICE=k2000.kp10   where the curves cross
#   CHOICE=                     K and K' of all other decodings; default: the best ones on the dev set
#   ENSEMBLE_OF="lv.frozen ..." arms whose two best checkpoints each are in ensembles
#   ENSEMBLES="4 8"             how many checkpoints
#
# A model is one of MODELS or such a one .frozen; lv_corrected_ANYTHING is lv_ANYTHING corrected by
# the words' shares of the text (--partition-correction), and a model that does not say so is not; a decoding is MODEL.HOW: kN.kpN (K and K'), common,
# unk0 to unk2 (the authors' numbers of their heuristics), nbest. lv.k2000.kp10.unk2 is an example.
set -euo pipefail

case $SETTING in
  multi30k)
    : "${TAU:=2000}" "${TAUS:=500 8000}" "${FREQUENT:=2000 500 1000 4000 8000}"
    : "${PER_WORD:=10 0 1 20}" "${DEFAULT_CHOICE:=k2000.kp10}"
    ;;
  paper)
    : "${TAU:=$([[ $TARGET == de ]] && echo 50000 || echo 30000)}" "${TAUS:=15000}"
    : "${FREQUENT:=30000 15000 50000}" "${PER_WORD:=10 0 1 20}" "${DEFAULT_CHOICE:=k30000.kp10}"
    ;;
esac
: "${CHOICE:=}" "${ENSEMBLES:=4 8}"
read -ra TAUS <<<"$TAUS"
MODELS=(shortlist lv lv_corrected lv_corrected_reshuffle sampled_log_uniform full lv_reshuffle
  "${TAUS[@]/#/lv_tau}" "${TAUS[@]/#/lv_corrected_tau}" lv_authors sampled sampled_uncorrected)
: "${ENSEMBLE_OF:=lv.frozen lv_reshuffle.frozen lv_tau${TAUS[-1]}.frozen lv_authors.frozen}"

# Frozen only where something is compared with it, or made of it.
read -ra MEMBERS <<<"$ENSEMBLE_OF"
ALL_ARMS=("${MODELS[@]}" shortlist.frozen "${MEMBERS[@]}")
read -ra ARMS <<<"${ARMS:-${ALL_ARMS[*]}}"
read -ra DECODINGS <<<"${DECODINGS:-}"

# curve_decodings: those that K and K' are chosen from.
curve_decodings() {
  local frequent per_word
  for frequent in $FREQUENT; do echo "lv.k$frequent.${DEFAULT_CHOICE#*.}"; done
  for per_word in $PER_WORD; do echo "lv.${DEFAULT_CHOICE%%.*}.kp$per_word"; done | awk -v \
    known="lv.$DEFAULT_CHOICE" '$0 != known'
}

# choice: K and K' with the best BLEU on the dev set.
choice() {
  if [[ -n $CHOICE ]]; then
    echo "$CHOICE"
  else
    "$PYTHON" "$HERE/decodings.py" "$LEDGER" --default "$DEFAULT_CHOICE"
  fi
}

# table_decodings CHOICE: the rows of the paper's table, then everything else.
table_decodings() {
  local chosen=$1 model size smallest frequent
  printf '%s\n' shortlist.unk2 lv.unk2 "lv.$chosen" "lv.$chosen.unk2" "lv_reshuffle.$chosen" \
    "lv_reshuffle.$chosen.unk2"
  # What K' and UNK replacement do to each other, and small partitions under large lists.
  echo "lv.${DEFAULT_CHOICE%%.*}.kp0.unk2"
  smallest=$(printf '%s\n' "$TAU" "${TAUS[@]}" | sort -n | head -n 1)
  for frequent in $FREQUENT; do echo "lv_tau$smallest.k$frequent.${DEFAULT_CHOICE#*.}"; done
  printf '%s\n' "lv.$chosen.common" "lv.$chosen.nbest"
  for model in $ENSEMBLE_OF; do echo "$model.$chosen.unk2"; done
  for size in $ENSEMBLES; do echo "ensemble$size.$chosen.unk2"; done
  printf '%s\n' shortlist.frozen.unk2 shortlist.unk0 shortlist.unk1 "lv.$chosen.unk0" \
    "lv.$chosen.unk1"
  for model in "${MODELS[@]}"; do
    [[ $model == shortlist ]] || echo "$model.$chosen.unk2"
  done
}

# all_decodings CHOICE: each once, by priority; those of DECODINGS alone if there are any.
all_decodings() {
  if ((${#DECODINGS[@]})); then
    printf '%s\n' "${DECODINGS[@]}"
  else
    { curve_decodings && table_decodings "$1"; } | awk '!seen[$0]++'
  fi
}
