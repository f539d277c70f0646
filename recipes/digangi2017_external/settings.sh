# What the steps of this recipe share: every setting (override it in the environment) and the arms.
#
#   SETTING=multi30k     multi30k; iwslt or wmt: the paper's settings, on text of your own in PARALLEL
#   SIZES="1000 5000 10000 29000"        sentence pairs trained on, the first so many; or "all"
#   VECTORS="captions ptb"               captions: trained on the captions of the same pictures;
#                                        ptb: on newspaper text; file: read from VECTORS_FILE
#   VECTORS_FILE=        .vec, GloVe or .bin, with VECTORS=file
#   METHOD=skipgram  VECTOR_DIM=300      of the vectors trained here
#   NORMALIZE=1                          scale external vectors to length 1 (0 in the paper's settings):
#                                        the README says why
#   CENTER=1                             subtract their mean first, which says nothing of a word
#                                        (0 in the paper's settings)
#   TARGET_SEGMENTATION=words            or bpe, with BPE_MERGES=4000 of the target side alone
#   TARGET_MIN_COUNT=2                   rarer target words are the unknown symbol
#   INTERNAL_MIN_COUNT=1                 rarer source words have no embedding of the model's own
#   SEEDS="1"            one run of every arm for each
#   PATIENCE=            epochs without a lower validation loss that end a training
#   LR=                  of all sizes; by default by size, chosen for the baseline by 05_tune.sh
#   EPOCHS=  MAX_TOKENS=1000  DIM=128  DROPOUT=0.3  CLIP=1  BEAM=5
#   ARMS="mix_sum.1000.captions ..."     which arms, in order of priority (default: all of them)
# and those of recipes/common.sh: TIME_BUDGET, FORCE, THREADS, OUTLAYERS_DATA and so on.
set -euo pipefail
OUTLAYERS_RESULTS=${OUTLAYERS_RESULTS:-results/digangi2017}
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

: "${SETTING:=multi30k}" "${VECTORS_FILE:=}" "${PARALLEL:=}" "${SEEDS:=1}"
case $SETTING in
  multi30k)
    : "${SIZES:=1000 10000 29000 5000}" "${VECTORS:=captions ptb}" "${DIM:=128}" "${LR:=}"
    : "${DROPOUT:=0.3}" "${TARGET_SEGMENTATION:=words}" "${MAX_TOKENS:=1000}"
    : "${SOURCE:=en}" "${TARGET:=de}"
    ;;
  iwslt | wmt) # Di Gangi & Federico (2017), Sec. 4
    : "${SIZES:=all}" "${VECTORS:=file}" "${DIM:=500}" "${LR:=0.0003}"
    : "${DROPOUT:=0.0}" "${MAX_TOKENS:=4000}" "${SOURCE:=en}" "${EPOCHS:=50}"
    if [[ $SETTING == iwslt ]]; then
      : "${TARGET:=fr}" "${TARGET_SEGMENTATION:=words}" "${INTERNAL_VOCABULARY:=80000}"
      : "${TARGET_VOCABULARY:=80000}"
    else
      : "${TARGET:=de}" "${TARGET_SEGMENTATION:=bpe}" "${INTERNAL_VOCABULARY:=40000}"
      : "${BPE_MERGES:=40000}"
    fi
    [[ -n $PARALLEL ]] ||
      die "SETTING=$SETTING: name in PARALLEL a folder with tokenised train, valid, test.{$SOURCE,$TARGET}"
    ;;
  *) die "SETTING=$SETTING: known are multi30k, iwslt, wmt" ;;
esac
if [[ $SETTING == multi30k ]]; then
  : "${NORMALIZE:=1}" "${CENTER:=1}" "${PATIENCE:=}"
else
  : "${NORMALIZE:=0}" "${CENTER:=0}" "${PATIENCE:=-1}"
fi
: "${METHOD:=skipgram}" "${VECTOR_DIM:=300}" "${BPE_MERGES:=4000}" "${TARGET_MIN_COUNT:=2}"
: "${INTERNAL_MIN_COUNT:=1}" "${INTERNAL_VOCABULARY:=}" "${TARGET_VOCABULARY:=}"
: "${EPOCHS:=}" "${CLIP:=1}" "${BEAM:=5}" "${SPEED_UPDATES:=40}" "${SPEED_ROUNDS:=3}"

case $TARGET_SEGMENTATION in
  words | bpe) ;;
  *) die "TARGET_SEGMENTATION=$TARGET_SEGMENTATION: known are words and bpe" ;;
esac
RAW=$WORK/raw
TOKENIZED=${PARALLEL:-$WORK/tokenized}
MIXES=(mix_sum mix_gate only_external)
read -ra KINDS <<<"$VECTORS"

# By priority: every size with the first kind of vectors, then the others. The first of each size is
# the one that the report tests the rest against.
ALL_ARMS=()
for vectors in "${KINDS[@]}"; do
  for size in $SIZES; do
    if [[ $vectors == "${KINDS[0]}" ]]; then ALL_ARMS+=("baseline.$size"); fi
    for mix in "${MIXES[@]}"; do ALL_ARMS+=("$mix.$size.$vectors"); done
  done
done
read -ra ARMS <<<"${ARMS:-${ALL_ARMS[*]}}"

# The same rates for each size; the baseline has the best, and every arm what the baseline has.
TUNING=()
for size in $SIZES; do TUNING+=("tune-baseline-$size-"{0.001,0.002,0.003,0.005}); done

text_of() { printf '%s\n' "$WORK/text.$TARGET_SEGMENTATION.$1"; }                # SIZE
table_of() { printf '%s\n' "$WORK/table.$1.$2"; }                               # SIZE VECTORS
bin_of() { printf '%s\n' "$WORK/bin.$TARGET_SEGMENTATION.$1.$2"; }              # SIZE VECTORS

# internal_vocabulary SIZE VECTORS: symbols with embeddings of the model's own.
internal_vocabulary() {
  awk -v least="$INTERNAL_MIN_COUNT" -v most="${INTERNAL_VOCABULARY:-1e9}" \
    '$NF >= least && NR + 4 <= most { n = NR } END { print n + 4 }' "$(table_of "$1" "$2").dict.txt"
}

# rate_for SIZE: the learning rate.
rate_for() { printf '%s\n' "${LR:-0.003}"; }

# epochs_for SIZE: the most, which few pairs need many of; PATIENCE ends a training before.
epochs_for() {
  if [[ -n $EPOCHS ]]; then
    printf '%s\n' "$EPOCHS"
  elif [[ $1 == all ]] || (($1 > 20000)); then
    printf '15\n'
  else
    printf '%s\n' "$(($1 > 7000 ? 20 : $1 > 2500 ? 30 : 60))"
  fi
}

# patience_for SIZE: an epoch of few pairs is few updates, 13 of 1,000.
patience_for() {
  if [[ -n $PATIENCE ]]; then
    printf '%s\n' "$PATIENCE"
  elif [[ $1 == all ]] || (($1 > 7000)); then
    printf '2\n'
  else
    printf '%s\n' "$(($1 > 2500 ? 3 : 6))"
  fi
}

# Without a limit a weak model repeats itself up to fairseq's 200 tokens.
GENERATE="--beam $BEAM --max-tokens 4000 --max-len-a 1.2 --max-len-b 5"
if [[ $TARGET_SEGMENTATION == bpe ]]; then GENERATE+=" --post-process subword_nmt"; fi

# define_tuning NAME: tune-ARM-SIZE-RATE; sets what define_arm sets.
define_tuning() {
  local arm size rate
  IFS=- read -r _ arm size rate <<<"$1"
  define_arm "$arm.$size"
  WORDS+=", learning rate $rate"
  OPTIONS+=(--lr "$rate")
  ARM_OPTIONS=(--data "$DATA" --score tuning)
}

# define_arm NAME: sets WORDS, OPTIONS, ARM_OPTIONS and DATA.
define_arm() {
  if [[ $1 == tune-* ]]; then
    define_tuning "$1"
    return
  fi
  local mix size vectors
  IFS=. read -r mix size vectors <<<"$1"
  vectors=${vectors:-${KINDS[0]}}
  DATA=$(bin_of "$size" "$vectors")
  ARM_OPTIONS=(--data "$DATA" --reference "$TOKENIZED/test.$TARGET" --language "$TARGET")
  if [[ $SETTING == multi30k ]]; then
    ARM_OPTIONS+=(--raw-reference "$RAW/test_2016_flickr.$TARGET" --lowercase)
  fi
  # Halve the learning rate after an epoch without progress on the validation set.
  OPTIONS=(--source-lang "$SOURCE" --target-lang "$TARGET" --optimizer adam --lr "$(rate_for "$size")"
    --lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 --lr-patience 1 --clip-norm "$CLIP"
    --max-tokens "$MAX_TOKENS" --max-epoch "$(epochs_for "$size")" --patience "$(patience_for "$size")" --criterion full_softmax
    --embed-dim "$DIM" --hidden-size "$DIM" --dropout "$DROPOUT" --embedding-dropout "$DROPOUT"
    --log-interval 25 --num-workers 0)
  local external=(--external-embeddings "$(table_of "$size" "$vectors").npy")
  if [[ $CENTER == 1 ]]; then external+=(--center-external); fi
  if [[ $NORMALIZE == 1 ]]; then external+=(--normalize-external); fi
  local internal=(--internal-vocabulary "$(internal_vocabulary "$size" "$vectors")")
  case $mix in
    baseline)
      WORDS="$size pairs, embeddings of the model's own alone"
      OPTIONS+=(--arch nematus_gru "${internal[@]}")
      ;;
    only_external)
      WORDS="$size pairs, $vectors vectors alone"
      OPTIONS+=(--arch nematus_only_external "${external[@]}")
      ;;
    mix_sum)
      WORDS="$size pairs, embeddings plus $vectors vectors"
      OPTIONS+=(--arch nematus_mix_sum "${external[@]}" "${internal[@]}")
      ;;
    mix_gate)
      WORDS="$size pairs, embeddings gated with $vectors vectors"
      OPTIONS+=(--arch nematus_mix_gate "${external[@]}" "${internal[@]}")
      ;;
    *) die "no arm '$1'; known are ${ALL_ARMS[*]}" ;;
  esac
}
