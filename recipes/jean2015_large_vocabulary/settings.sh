# What the steps of this recipe share: every setting (override it in the environment), the data, and
# what the name of an arm means. Which arms and decodings there are: arms.sh.
#
#   SETTING=multi30k     multi30k, or paper: the sizes and the training of Jean et al. (2015), on text
#                        of your own in PARALLEL
#   SOURCE=en TARGET=de  languages
#   SHORTLIST=4000       target words of the baseline; all others are its unknown word
#   LARGE=0              target words of all other arms; 0: every word of the training text
#   SOURCE_SHORTLIST=0 SOURCE_LARGE=0    the same for source words
#   EMBED HIDDEN MAXOUT  of the model
#   SEEDS="1"            one run of every arm for each
#   EPOCHS  FROZEN_EPOCHS  BATCH_SENTENCES  DROPOUT  LR  LAZY_LR  FROZEN_LR  CLIP     of training
#   PATIENCE=2           epochs without a lower validation loss that end a training; -1: none do
#   BEAM=12              of translating
#   LEXICON_TABLE=FILE   a table of fast_align -p, instead of the built-in aligner's
#   TIMING_ROUNDS=3  TIMING_SENTENCES=200    of step 80: times that each way to decode is measured,
#                        on so many sentences of the test set
#   SPEED_UPDATES=40  SPEED_ROUNDS=3     and of every training
#   and those of arms.sh, and of recipes/common.sh: TIME_BUDGET, FORCE, THREADS, OUTLAYERS_DATA ...
set -euo pipefail
OUTLAYERS_RESULTS=${OUTLAYERS_RESULTS:-results/jean2015}
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$HERE/../common.sh"

: "${SETTING:=multi30k}" "${SOURCE:=en}" "${TARGET:=de}" "${PARALLEL:=}" "${SEEDS:=1}" "${BEAM:=12}"
: "${CLIP:=1}" "${LEXICON_TABLE:=}" "${TIMING_ROUNDS:=3}" "${TIMING_SENTENCES:=200}"
: "${SPEED_UPDATES:=40}" "${SPEED_ROUNDS:=3}"
SEED=${SEEDS%% *} # of what looks into one run alone: steps 40 and 80
case $SETTING in
  multi30k)
    : "${SHORTLIST:=4000}" "${LARGE:=0}" "${SOURCE_SHORTLIST:=0}" "${SOURCE_LARGE:=0}"
    # An arm must take minutes: a tenth of the paper's width, Adam, half its batch.
    : "${EMBED:=96}" "${HIDDEN:=128}" "${MAXOUT:=64}" "${DROPOUT:=0.3}"
    : "${EPOCHS:=15}" "${PATIENCE:=2}" "${FROZEN_EPOCHS:=2}" "${BATCH_SENTENCES:=40}"
    : "${LR:=0.002}" "${LAZY_LR:=$LR}" "${FROZEN_LR:=0.0005}"
    OPTIMIZER=(--optimizer adam)
    # A weak model repeats itself up to whatever is allowed.
    LONGEST="--max-len-a 1.2 --max-len-b 5"
    ;;
  paper)
    : "${SHORTLIST:=$([[ $TARGET == de ]] && echo 50000 || echo 30000)}" "${LARGE:=500000}"
    : "${SOURCE_SHORTLIST:=$SHORTLIST}" "${SOURCE_LARGE:=$LARGE}"
    : "${EMBED:=620}" "${HIDDEN:=1000}" "${MAXOUT:=500}" "${DROPOUT:=0}"
    : "${EPOCHS:=10}" "${PATIENCE:=-1}" "${FROZEN_EPOCHS:=2}" "${BATCH_SENTENCES:=80}" "${LR:=1}"
    : "${LAZY_LR:=0.001}" "${FROZEN_LR:=1}"
    LONGEST="--max-len-a 3 --max-len-b 1" # the authors'
    OPTIMIZER=(--optimizer adadelta --adadelta-rho 0.95 --adadelta-eps 1e-6)
    WORK+=/paper.$SOURCE-$TARGET RESULTS+=/paper.$SOURCE-$TARGET LEDGER=$RESULTS/ledger.jsonl
    [[ -n $PARALLEL ]] || die "SETTING=paper: name in PARALLEL a folder with tokenised, cased" \
      "train, valid, test.{$SOURCE,$TARGET}"
    ;;
  *) die "SETTING=$SETTING: known are multi30k and paper" ;;
esac
source "$HERE/arms.sh"

RAW=$WORK/raw
TOKENIZED=$WORK/tokenized
LEXICON=$WORK/lexicon.$SOURCE-$TARGET
CANDIDATES=$WORK/candidates.npz
bin_of() { echo "$WORK/bin.$1"; } # shortlist, or large

# data_of MODEL: the binarized data that it is trained on.
data_of() {
  if [[ $1 == shortlist* ]]; then bin_of shortlist; else bin_of large; fi
}

# checkpoint_of ARM: its best one with this SEED, as seen from the checkout; nothing if not here.
checkpoint_of() {
  run_files checkpoints/checkpoint_best.pt --all-seeds --arms "$1" |
    { grep "/seed$SEED-" || true; } | head -n 1
}

# No translation is shorter than half of its source: the authors' bound.
SEARCH="--task translation_outlayers --beam $BEAM --batch-size 32 $LONGEST --min-len-a 0.5"

# define_arm NAME: a model to train, or one to decode; sets WORDS, OPTIONS, ARM_OPTIONS, GENERATE.
define_arm() {
  local model=${1%%.*} decoding
  [[ $1 != "$model".frozen* ]] || model+=.frozen
  decoding=${1#"$model"}
  ARM_OPTIONS=(--data "$(data_of "$model")" --reference "$TOKENIZED/test.$TARGET"
    --language "$TARGET")
  if [[ $SETTING == multi30k ]]; then
    ARM_OPTIONS+=(--raw-reference "$RAW/test_2016_flickr.$TARGET")
  fi
  GENERATE=$SEARCH
  case $model in
    ensemble[0-9]*) define_ensemble "$model" "$decoding" ;;
    *) define_model "$model" ;;
  esac
  if [[ -n $decoding ]]; then
    OPTIONS=()
    ARM_OPTIONS+=(--dev-reference "$TOKENIZED/valid.$TARGET")
    if [[ $model != ensemble* ]]; then ARM_OPTIONS+=(--of "$model"); fi
    define_decoding "$model" "${decoding#.}"
  fi
}

# define_model MODEL: how it is trained; sets WORDS and OPTIONS.
define_model() {
  local epochs=$EPOCHS rate=$LR optimizer=("${OPTIMIZER[@]}") model=${1%.frozen} correction=none
  if [[ $1 == *.frozen ]]; then epochs=$FROZEN_EPOCHS rate=$FROZEN_LR; fi
  if [[ $model == sampled_log_uniform ]]; then optimizer=(--optimizer lazy_adam) rate=$LAZY_LR; fi
  if [[ $model == lv_corrected* ]]; then correction=log_share model=lv${model#lv_corrected}; fi
  OPTIONS=(--task translation_outlayers --source-lang "$SOURCE" --target-lang "$TARGET"
    --arch rnnsearch --embed-dim "$EMBED" --hidden-size "$HIDDEN" --maxout-size "$MAXOUT"
    --dropout "$DROPOUT" "${optimizer[@]}" --lr "$rate" --clip-norm "$CLIP"
    --lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 --lr-patience 0
    --batch-size "$BATCH_SENTENCES" --max-epoch "$epochs" --patience "$PATIENCE"
    --keep-best-checkpoints 2
    --log-interval 25 --num-workers 0)
  local partitions=(--criterion partition_softmax --partition-correction "$correction"
    --partition-size)
  case $model in
    shortlist)
      WORDS="the $SHORTLIST most frequent target words, all of them in every step"
      OPTIONS+=(--criterion full_softmax)
      ;;
    full)
      WORDS="all target words, all of them in every step"
      OPTIONS+=(--criterion full_softmax)
      ;;
    lv) WORDS="partitions of $TAU target words" && OPTIONS+=("${partitions[@]}" "$TAU") ;;
    lv_tau[0-9]*)
      WORDS="partitions of ${model#lv_tau} target words"
      OPTIONS+=("${partitions[@]}" "${model#lv_tau}")
      ;;
    lv_authors)
      WORDS="partitions filled up to $TAU words with those of the one before, on both sides"
      OPTIONS+=("${partitions[@]}" "$TAU" --partition-mode authors)
      ;;
    lv_reshuffle)
      WORDS="partitions of $TAU target words, new ones in every epoch"
      OPTIONS+=("${partitions[@]}" "$TAU" --reshuffle-partitions)
      ;;
    sampled_log_uniform)
      WORDS="$TAU words drawn by rank for every step, scores corrected by -log Q, lazy Adam"
      OPTIONS+=(--criterion sampled_softmax --sampler log_uniform --num-sampled "$TAU")
      ;;
    sampled | sampled_uncorrected)
      WORDS="$TAU words drawn by frequency for every step, scores corrected by -log Q"
      OPTIONS+=(--criterion sampled_softmax --sampler unigram --num-sampled "$TAU")
      if [[ $1 == sampled_uncorrected* ]]; then
        WORDS="$TAU words drawn by frequency for every step, scores as they are"
        OPTIONS+=(--no-logq-correction)
      fi
      ;;
    *) die "no model '$1'; known are ${MODELS[*]} (each with .frozen), lv_tauN, ensembleN" ;;
  esac
  if [[ $correction != none ]]; then WORDS+="; scores corrected by the words' shares"; fi
  if [[ $1 == *.frozen ]]; then
    WORDS="${1%.frozen} tuned with embeddings and class vectors fixed"
    OPTIONS+=(--freeze-embeddings --finetune-from-model "$(checkpoint_of "${1%.frozen}")")
  fi
}

# define_ensemble ensembleN DECODING: the best and second-best checkpoints of N / 2 arms.
define_ensemble() {
  local size=${1#ensemble} members=()
  [[ -n $2 ]] || die "'$1' is decoded, not trained: name how, as in $1.$DEFAULT_CHOICE"
  ((size % 2 == 0 && size > 0)) || die "'$1': an even number, two checkpoints of each arm"
  ((size / 2 <= ${#MEMBERS[@]})) || die "'$1' needs $((size / 2)) arms, ENSEMBLE_OF has ${#MEMBERS[@]}"
  members=("${MEMBERS[@]:0:size/2}")
  WORDS="the two best checkpoints of each of ${members[*]}, together"
  ARM_OPTIONS+=(--of "${members[@]}" --checkpoints 'checkpoint.best_loss_*.pt')
  GENERATE+=" --ensemble-average log_probabilities"
}

HEURISTICS=(copy dictionary lower_case)

# define_decoding MODEL PART.PART...: adds to WORDS, GENERATE and ARM_OPTIONS.
define_decoding() {
  local part frequent='' per_word='' scope=sentence
  for part in ${2//./ }; do
    case $part in
      k[0-9]*) frequent=${part#k} ;;
      kp[0-9]*) per_word=${part#kp} ;;
      common) # its list has K words in all, and those of a large batch may not fit
        scope=common
        GENERATE+=" --batch-size 4"
        ;;
      nbest) GENERATE+=" --nbest $BEAM" ;;
      unk[012])
        WORDS+="; unknown words replaced: ${HEURISTICS[${part#unk}]}"
        GENERATE+=" --unk-replacement ${HEURISTICS[${part#unk}]}"
        GENERATE+=" --source-text $TOKENIZED/{subset}.$SOURCE"
        if [[ $part != unk0 ]]; then
          GENERATE+=" --unk-dictionary $LEXICON"
          ARM_OPTIONS+=(--files "$LEXICON")
        fi
        ;;
      *) die "no decoding '$part' of $1; known are kN.kpN, common, unk0, unk1, unk2, nbest" ;;
    esac
  done
  [[ -n $frequent && -n $per_word || -z $frequent$per_word && $scope == sentence ]] ||
    die "'$1.$2': candidates need both k and kp, as in $DEFAULT_CHOICE"
  if [[ -n $frequent ]]; then
    WORDS+="; over $frequent frequent words and $per_word translations of each, $scope lists"
    GENERATE+=" --candidates $CANDIDATES --candidate-frequent $frequent"
    GENERATE+=" --candidate-per-word $per_word --candidate-scope $scope"
    ARM_OPTIONS+=(--files "$CANDIDATES")
  fi
}
