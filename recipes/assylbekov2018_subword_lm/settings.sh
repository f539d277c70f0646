# What the steps of this recipe share: every setting (override it in the environment) and the arms.
#
#   ARMS="..."           which arms, in order of priority; a name is DATA.MODEL[.OPTION...], see below
#   SEEDS="1"            one run of every arm for each
#   SENTENCES=6000       of the Penn Treebank's training text (all: 42,068), EPOCHS=10
#   DECAY_FROM           first epoch with a smaller learning rate, SHRINK its factor an epoch;
#                        the authors' with EPOCHS=70, else DECAY_FROM=EPOCHS*0.6+1 and SHRINK=0.5
#   BATCH=20 BPTT=35 CLIP=5                     the authors'
#   MIN_COUNT=2          words of the captions seen less often are <unk> (the Treebank has its own)
#   TEXTS=DIR            DIR/NAME/{train,valid,test}.txt for DATA=NAME beyond those built in
#   LOOK_INTO=ptb        the DATA whose models step 50 looks into
#   NEIGHBOURS_OF="while his you richard trading"   of step 50, those that the dictionary has
# and those of recipes/common.sh: TIME_BUDGET, FORCE, THREADS, OUTLAYERS_DATA and so on.
#
# DATA    ptb; en5k en15k en29k, de..., fr... (Multi30k captions); mono_en mono_de (five times as
#         many); any folder of TEXTS, such as wikitext2, fr, es, de, cs, ru
# MODEL   word, charcnn, sylconcat or morphsum, then _original, _none, _re, _rw, _re_rw, or letters
#         of what is tied: E emb, P proj, C cnn, 1 hw1, 2 hw2 (morphsum_E1)
# OPTION  medium: the paper's medium size; sampled: 20% of the classes in training, drawn by rank (the
#         paper does not say how), batches of 100
set -euo pipefail
OUTLAYERS_RESULTS=${OUTLAYERS_RESULTS:-results/assylbekov2018}
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

: "${SENTENCES:=6000}" "${EPOCHS:=10}" "${SEEDS:=1}" "${BATCH:=20}" "${BPTT:=35}" "${CLIP:=5}"
: "${MIN_COUNT:=2}" "${TEXTS:=$WORK/texts}"
: "${LOOK_INTO:=ptb}" "${NEIGHBOURS_OF:=while his you richard trading}"
GENERATE= # nothing is translated

# Every claim of the paper needs some of these; the first answer the main ones.
MAIN=(word_re morphsum_re_rw word_original morphsum_original morphsum_rw morphsum_none morphsum_re
  sylconcat_original sylconcat_re_rw sylconcat_rw sylconcat_none sylconcat_re charcnn_original
  charcnn_re charcnn_re_rw charcnn_rw charcnn_none)
# The layer study: whatever ties the vectors of units or hw1. What is above them and below hw1
# (proj, cnn) goes with the units here ...
LAYERS=(morphsum_E1 morphsum_E2 morphsum_1
  sylconcat_EP sylconcat_EP1 sylconcat_EP2 sylconcat_1 sylconcat_12
  charcnn_EC charcnn_EC1 charcnn_EC2 charcnn_1 charcnn_12)
# ... and is tied or free by itself here. The paper does not tell which of the two it means.
LAYERS_APART=(sylconcat_E1 sylconcat_E2 sylconcat_E12 sylconcat_P1
  charcnn_E1 charcnn_E2 charcnn_E12 charcnn_C1)
ALL_ARMS=("${MAIN[@]/#/ptb.}")
for size in 5k 15k; do
  for language in de en fr; do
    ALL_ARMS+=("$language$size.word_re" "$language$size.morphsum_re_rw")
  done
done
ALL_ARMS+=("${LAYERS[@]/#/ptb.}")
for language in de en fr; do
  ALL_ARMS+=("${language}29k.word_re" "${language}29k.morphsum_re_rw")
done
for language in de en; do
  ALL_ARMS+=("mono_$language.word_re.sampled" "mono_$language.morphsum_re_rw.sampled")
done
ALL_ARMS+=(ptb.word_original.medium ptb.word_re.medium ptb.morphsum_original.medium
  ptb.morphsum_re_rw.medium)
ALL_ARMS+=("${LAYERS_APART[@]/#/ptb.}")
read -ra ARMS <<<"${ARMS:-${ALL_ARMS[*]}}"

# data_of ARM: the first part of its name.
data_of() { printf '%s\n' "${1%%.*}"; }

# folder_of DATA: its binarized text, where the tables of units lie as well.
folder_of() {
  case $1 in
    ptb) printf '%s/ptb.%s\n' "$WORK" "$SENTENCES" ;;
    *) printf '%s/%s\n' "$WORK" "$1" ;;
  esac
}

# training_text DATA: as 00_prepare.sh leaves it.
training_text() {
  case $1 in
    ptb) printf '%s/text/ptb.%s.txt\n' "$WORK" "$SENTENCES" ;;
    en5k | en15k | en29k | de5k | de15k | de29k | fr5k | fr15k | fr29k | mono_en | mono_de)
      printf '%s/text/%s.txt\n' "$WORK" "$1"
      ;;
    *) printf '%s/%s/train.txt\n' "$TEXTS" "$1" ;;
  esac
}

# patterns_of DATA: the hyphenation patterns of its language.
patterns_of() {
  case ${1#mono_} in
    ptb | wikitext2 | en*) printf 'en_US\n' ;;
    de*) printf 'de_DE\n' ;;
    fr*) printf 'fr\n' ;;
    cs*) printf 'cs_CZ\n' ;;
    ru*) printf 'ru_RU\n' ;;
    *) printf '%s\n' "${1%%_*}" ;;
  esac
}

# learning_rate MODEL: the authors', for small models; the epoch after which it shrinks in theirs.
learning_rate() {
  case $1 in
    word*) RATE=1.0 DECAY=6 ;;
    charcnn*) RATE=0.5 DECAY=13 ;;
    *) RATE=0.7 DECAY=11 ;;
  esac
  if ((EPOCHS < 70)); then DECAY=$((EPOCHS * 6 / 10 + 1)); fi
  DECAY=${DECAY_FROM:-$DECAY}
}

# tie_of MODEL: --tie for what stands after the composition in its name.
tie_of() {
  local choice=${1#*_} letter names=()
  declare -A layers=([E]=emb [P]=proj [C]=cnn [1]=hw1 [2]=hw2)
  case $choice in
    original | none | re | rw | re_rw) printf '%s\n' "$choice" ;;
    *)
      while read -rn1 letter && [[ -n $letter ]]; do
        [[ -n ${layers[$letter]:-} ]] || die "$1: '$letter' is none of E P C 1 2, nor is $choice a preset"
        names+=("${layers[$letter]}")
      done <<<"$choice"
      (IFS=, && printf '%s\n' "${names[*]}")
      ;;
  esac
}

# define_arm NAME: sets WORDS, OPTIONS and ARM_OPTIONS.
define_arm() {
  local data model options option size='' rate_factor=$([[ $EPOCHS -lt 70 ]] && echo 0.5 || echo 0.9)
  IFS=. read -r data model options <<<"$1"
  local composition=${model%%_*} tie batch=$BATCH criterion=(--criterion full_softmax)
  tie=$(tie_of "$model") || exit 1
  learning_rate "$model"
  WORDS="$composition, tied: $tie, on $data"
  for option in ${options//./ }; do
    case $option in
      medium) size=_medium WORDS+=", medium size" ;;
      sampled)
        criterion=(--criterion sampled_softmax --sampler log_uniform --sample-share 0.2)
        batch=100 WORDS+=", 20% of the classes in training"
        ;;
      *) die "arm $1: no option '$option'; known are medium and sampled" ;;
    esac
  done
  if [[ $model == word* && -n $size ]]; then RATE=0.7; fi
  ARM_OPTIONS=(--score perplexity --data "$(folder_of "$data")"
    --evaluate "--task subword_language_modeling --tokens-per-sample 200 --num-workers 0")
  OPTIONS=(--task subword_language_modeling --tokens-per-sample "$BPTT" --batch-size "$batch"
    --arch "${composition}_lm$size" --tie "$tie" "${criterion[@]}" --sentence-avg
    --optimizer sgd --lr "$RATE" --clip-norm "$CLIP" --max-epoch "$EPOCHS"
    --lr-scheduler fixed --force-anneal "$DECAY" --lr-shrink "${SHRINK:-$rate_factor}"
    --num-workers 0 --log-interval 50)
}
