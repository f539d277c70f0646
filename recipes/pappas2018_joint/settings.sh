# What the steps of this recipe share: every setting (override it in the environment), the data, and
# what the name of an arm means. Which arms there are: arms.sh.
#
#   SETTING=multi30k     multi30k, or paper: the sizes, the training and the data of Pappas et al.
#   SEEDS="1"            one run of every arm for each
#   EPOCHS  BATCH_SENTENCES  DIM  LAYERS  LR  BEAM       of training and translating
#   PATIENCE=2           epochs without a lower validation loss that end a training; -1: none do
#   SPEED_UPDATES=20  SPEED_ROUNDS=3  SPEED_TOKENS=5000  of step 80: at least 4,000 target tokens
#   NEIGHBOURS_OF="walking red dog woman"                of step 60: target words of the first direction
#   WMT_DATA=FOLDER      for SETTING=paper; the README says what has to be in it
#   and those of arms.sh, and of recipes/common.sh: TIME_BUDGET, FORCE, OUTLAYERS_DATA and so on.
set -euo pipefail
OUTLAYERS_RESULTS=${OUTLAYERS_RESULTS:-results/pappas2018}
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$HERE/../common.sh"

: "${SETTING:=multi30k}" "${SEEDS:=1}" "${LAYERS:=2}" "${BEAM:=5}"
: "${NEIGHBOURS_OF:=walking red dog woman}"
: "${SPEED_UPDATES:=20}" "${SPEED_ROUNDS:=3}" "${SPEED_TOKENS:=5000}"
case $SETTING in
  multi30k)
    # A quarter of the authors' width and half their batch: an arm must take minutes, and still make
    # enough updates to learn attention. The learning rate is the larger for it.
    : "${EPOCHS:=15}" "${PATIENCE:=2}" "${BATCH_SENTENCES:=48}" "${DIM:=128}" "${LR:=0.003}"
    CASE=(--lowercase)
    ;;
  paper)
    : "${EPOCHS:=50}" "${PATIENCE:=-1}" "${BATCH_SENTENCES:=96}" "${DIM:=512}" "${LR:=0.001}"
    CASE=()
    WORK+=/paper RESULTS+=/paper LEDGER=$RESULTS/ledger.jsonl
    [[ -n ${WMT_DATA:-} ]] || die "SETTING=paper needs WMT_DATA, a folder with the WMT 2017 text" \
      "(the README says what has to be in it)"
    ;;
  *) die "SETTING=$SETTING: known are multi30k and paper" ;;
esac
BATCH=(--batch-size "$BATCH_SENTENCES")
source "$HERE/arms.sh"

# Validation and test sets of WMT by language pair; WMT_DATA/PAIR/newstest2014.de and so on.
declare -A VALID_SET=([de-en]=newstest2014 [en-fi]=newstest2015)
declare -A TEST_SET=([de-en]=newstest2015 [en-fi]=newstest2016)

# pair_of DIRECTION: both directions share text, BPE and binarized data.
pair_of() { tr - '\n' <<<"$1" | sort | paste -sd -; }

# raw_prefix PAIR SPLIT: of the plain text.
raw_prefix() {
  case $SETTING.$2 in
    multi30k.train) echo "$WORK/raw/train" ;;
    multi30k.valid) echo "$WORK/raw/val" ;;
    multi30k.test) echo "$WORK/raw/test_2016_flickr" ;;
    paper.train) echo "$WMT_DATA/$1/train" ;;
    paper.valid) echo "$WMT_DATA/$1/${VALID_SET[$1]}" ;;
    paper.test) echo "$WMT_DATA/$1/${TEST_SET[$1]}" ;;
  esac
}

# text_folder PAIR VOCABULARY: words, or units of joint BPE, as in bpe4000.
text_folder() {
  case $2 in
    words) echo "$WORK/$1/tokenized" ;;
    bpe[0-9]*) echo "$WORK/$1/$2" ;;
    *) die "no vocabulary '$2'; known are words and bpeMERGES, as in bpe4000" ;;
  esac
}

# training_text DIRECTION: the words of its target language, however the models see them.
training_text() {
  local pair
  pair=$(pair_of "$1")
  echo "$(text_folder "$pair" words)/train.${1#*-}"
}

binary_folder() { echo "$WORK/$1/bin.$2"; }

declare -A OUTPUT_LAYER=([nmt]=linear [tied]=tied [bilinear]=bilinear
  [output_structure]=output_structure [context_structure]=context_structure
  [deep_residual]=deep_residual)
declare -A MODEL_WORDS=([nmt]="a free vector for every output word"
  [tied]="output words share the vectors of the decoder's input words"
  [bilinear]="tied, with a linear map of the contexts (eq. 6)"
  [output_structure]="tied, with a nonlinear map of the words (eq. 7a)"
  [context_structure]="tied, with a nonlinear map of the contexts (eq. 7b)"
  [deep_residual]="tied, with residual maps of the words (DRILL)")

# define_arm DIRECTION.VOCABULARY.MODEL[.CHANGE...]: sets WORDS, OPTIONS, ARM_OPTIONS and GENERATE.
define_arm() {
  local direction vocabulary model changes
  IFS=. read -r direction vocabulary model changes <<<"$1"
  local source=${direction%-*} target=${direction#*-} pair
  [[ $direction == ??-?? && -n $model ]] ||
    die "'$1' is no arm: expected DIRECTION.VOCABULARY.MODEL, as in de-en.bpe4000.tied"
  pair=$(pair_of "$direction")
  define_data "$pair" "$vocabulary" "$target"
  OPTIONS=(--source-lang "$source" --target-lang "$target" --arch luong_lstm
    --embed-dim "$DIM" --hidden-size "$DIM" --dropout 0.3
    --optimizer adam --lr "$LR" --lr-scheduler shrink_after_rise --clip-norm 5
    "${BATCH[@]}" --sentence-avg --max-epoch "$EPOCHS" --patience "$PATIENCE"
    --log-interval 50 --num-workers 0)
  add_model "$model"
  LOSS=(--criterion full_softmax)
  local layers=$LAYERS change
  for change in ${changes//./ }; do
    case $change in
      depth[0-9]*) layers=${change#depth} && WORDS+=", $layers+$layers layers" ;;
      *) add_change "$change" ;;
    esac
  done
  OPTIONS+=(--encoder-layers "$layers" --decoder-layers "$layers" "${LOSS[@]}")
}

define_data() {
  local pair=$1 vocabulary=$2 target=$3
  text_folder "$pair" "$vocabulary" >/dev/null # ends here if there is no such vocabulary
  # Without a limit a weak model repeats itself up to fairseq's 200 tokens.
  GENERATE="--beam $BEAM --nbest $BEAM --max-tokens 4000 --max-len-a 1.2 --max-len-b 5"
  if [[ $vocabulary != words ]]; then GENERATE+=" --post-process subword_nmt"; fi
  ARM_OPTIONS=(--data "$(binary_folder "$pair" "$vocabulary")" --language "$target"
    --reference "$(text_folder "$pair" words)/test.$target"
    --raw-reference "$(raw_prefix "$pair" test).$target" "${CASE[@]}")
}

add_model() {
  if [[ $1 =~ ^joint([0-9]+)$ ]]; then
    WORDS="words and contexts meet in a joint space of ${BASH_REMATCH[1]} dimensions (eq. 14)"
    OPTIONS+=(--output-layer joint --joint-dim "${BASH_REMATCH[1]}")
  elif [[ -n ${OUTPUT_LAYER[$1]:-} ]]; then
    WORDS=${MODEL_WORDS[$1]}
    OPTIONS+=(--output-layer "${OUTPUT_LAYER[$1]}")
  else
    die "no model '$1'; known are jointDIMENSIONS, as in joint512, and ${!OUTPUT_LAYER[*]}"
  fi
}

# add_change CHANGE: one of the words after the model in the name of an arm.
add_change() {
  case $1 in
    share[0-9]*)
      WORDS+=", trained on ${1#share}% of the classes"
      LOSS=(--criterion sampled_softmax --sampler batch_negatives --no-logq-correction
        --sample-share "$(awk "BEGIN { print ${1#share} / 100 }")")
      ;;
    relu | sigmoid) WORDS+=", $1" && OPTIONS+=(--joint-activation "$1") ;;
    linear) WORDS+=", without nonlinearity" && OPTIONS+=(--joint-activation none) ;;
    nobias) WORDS+=", no inner biases" && OPTIONS+=(--joint-inner-bias none) ;;
    allbias) WORDS+=", with inner biases" && OPTIONS+=(--joint-inner-bias all) ;;
    stacked[0-9]*)
      WORDS+=", ${1#stacked} additive transformations" && OPTIONS+=(--joint-layers "${1#stacked}")
      ;;
    *) die "no change '$1' of an arm; known are shareN depthN stackedN relu sigmoid linear" \
      "nobias allbias" ;;
  esac
}
