# What the steps of this recipe share: every setting (override it in the environment) and the arms.
#
#   SOURCE=en TARGET=de  languages of Multi30k
#   BPE_MERGES=4000      joint merges
#   SEEDS="1"            one run of every arm for each
#   DIM=128 LAYERS=3     width of the models and layers of each side (the paper: 512, 6)
#   EPOCHS=15 PATIENCE=2 most epochs, and epochs without a lower validation loss that end a training
#   MAX_TOKENS=1000  DROPOUT=0.3  SMOOTHING=0.1  CLIP=5  BEAM=5
#   RNMT_LR RNMT_RANGE   learning rate and range of the start of the trained models,
#   ESNMT_LR ESNMT_RANGE ESNMT_GAMMA ESNMT_RADIUS        of those with simple cells,
#   LSTM_LR LSTM_RANGE LSTM_GAMMA LSTM_RADIUS            and with LSTM cells: chosen by 05_tune.sh
#   TUNE_UPDATES=1100    of each run of 05_tune.sh
#   ARMS="..."           which arms, in order of priority (default: all of them)
# and those of recipes/common.sh: TIME_BUDGET, FORCE, THREADS, OUTLAYERS_DATA and so on.
set -euo pipefail
OUTLAYERS_RESULTS=${OUTLAYERS_RESULTS:-results/garg2020}
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

: "${SOURCE:=en}" "${TARGET:=de}" "${BPE_MERGES:=4000}" "${SEEDS:=1}" "${DIM:=128}" "${LAYERS:=3}"
: "${EPOCHS:=15}" "${PATIENCE:=2}" "${MAX_TOKENS:=1000}" "${DROPOUT:=0.3}" "${SMOOTHING:=0.1}"
: "${CLIP:=5}" "${BEAM:=5}" "${TUNE_UPDATES:=1100}"
: "${RNMT_LR:=0.002}" "${RNMT_RANGE:=0.113}"
: "${ESNMT_LR:=0.002}" "${ESNMT_RANGE:=0.113}" "${ESNMT_GAMMA:=3}" "${ESNMT_RADIUS:=0.5}"
: "${LSTM_LR:=0.002}" "${LSTM_RANGE:=0.2}" "${LSTM_GAMMA:=3.5}" "${LSTM_RADIUS:=1}"

# By priority: main table, ladder (its rows "attention" and "all" are esnmt_lstm and rnmt_plus),
# fixed radii, scale of the inputs, width, sparsity, beyond the paper.
MAIN=(rnmt_plus esnmt esnmt_lstm esnmt_faithful esnmt_lstm_faithful)
LADDER=(release_softmax release_embeddings release_decoder release_encoder)
RADII=(radius_0.9 radius_0.1 radius_2.0)
SCALES=(gamma_1 gamma_0.1 fan_in_1 fan_in_10 lstm_fan_in_2 lstm_fan_in_6)
MORE=(esnmt_wide esnmt_lstm_wide sparsity_0 sparsity_0.75 leak_0.5 scales_per_gate
  transformer transformer_frozen)
# The first is the one that the report tests the others against.
ALL_ARMS=("${MAIN[@]}" "${LADDER[@]}" "${RADII[@]}" "${SCALES[@]}" "${MORE[@]}")
read -ra ARMS <<<"${ARMS:-${ALL_ARMS[*]}}"

# As many for each of the three models, chosen among on the validation set.
TUNING=(
  tune-rnmt_plus-{0.001,0.002,0.004}-{0.08,0.2} tune-rnmt_plus-0.002-{0.04,0.113}
  tune-esnmt-0.002-0.113-{2,3,6}-{0.5,1} tune-esnmt-0.002-0.2-3-0.5 tune-esnmt-0.004-0.113-3-0.5
  tune-esnmt_lstm-0.002-{0.08,0.2}-{2,3.5,6}-1 tune-esnmt_lstm-0.002-0.2-3.5-0.5
  tune-esnmt_lstm-0.004-0.2-3.5-1
)

RAW=$WORK/raw
TOKENIZED=$WORK/tokenized
TEXT=$WORK/bpe$BPE_MERGES
BIN=$WORK/bin.bpe$BPE_MERGES
# Without a limit a weak model repeats itself up to fairseq's 200 tokens.
GENERATE="--beam $BEAM --max-tokens 4000 --max-len-a 1.2 --max-len-b 5 --post-process subword_nmt"
ARM_OPTIONS=(--data "$BIN" --reference "$TOKENIZED/test.$TARGET"
  --raw-reference "$RAW/test_2016_flickr.$TARGET" --language "$TARGET" --lowercase)

# Recipe of RNMT+ (Chen et al. 2018), but for a learning rate and a schedule that suit an hour.
COMMON=(--source-lang "$SOURCE" --target-lang "$TARGET" --optimizer adam --adam-betas "(0.9,0.98)"
  --adam-eps 1e-6 --weight-decay 1e-5 --clip-norm "$CLIP" --max-tokens "$MAX_TOKENS"
  --max-epoch "$EPOCHS" --patience "$PATIENCE" --dropout "$DROPOUT" --criterion full_softmax
  --label-smoothing "$SMOOTHING" --log-interval 25 --num-workers 0
  --lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 --lr-patience 0)
SKELETON=("${COMMON[@]}" --encoder-layers "$LAYERS" --decoder-layers "$LAYERS")
NARROW=(--embed-dim "$DIM" --hidden-size "$DIM")
WIDE=(--embed-dim "$((DIM * 2))" --hidden-size "$((DIM * 2))")
RNMT_PLUS=("${SKELETON[@]}" --arch rnmt_plus)
ESNMT=("${SKELETON[@]}" --arch esnmt --input-norm fan_in)
ESNMT_LSTM=("${SKELETON[@]}" --arch esnmt_lstm --input-norm fan_in)
RNMT_START=(--lr "$RNMT_LR" --init-range "$RNMT_RANGE")
ESNMT_START=(--lr "$ESNMT_LR" --init-range "$ESNMT_RANGE" --gamma-init "$ESNMT_GAMMA")
LSTM_START=(--lr "$LSTM_LR" --init-range "$LSTM_RANGE" --gamma-init "$LSTM_GAMMA"
  --radius-init "$LSTM_RADIUS")
LEARNED=(--radius-init "$ESNMT_RADIUS")
TRANSFORMER=("${COMMON[@]}" --arch transformer_outlayers --lr 0.001 --warmup-updates 400
  --encoder-layers "$((LAYERS * 2))" --decoder-layers "$LAYERS"
  --encoder-embed-dim "$DIM" --encoder-ffn-embed-dim "$((DIM * 4))"
  --decoder-embed-dim "$DIM" --decoder-ffn-embed-dim "$((DIM * 4))"
  --encoder-attention-heads 4 --decoder-attention-heads 4)

# Twice as wide: products keep their variance.
wider() { awk -v range="$1" 'BEGIN { print range / sqrt(2) }'; }

# define_tuning NAME: tune-MODEL-LR-RANGE[-GAMMA-RADIUS]; sets WORDS and OPTIONS.
define_tuning() {
  local model lr range gamma radius
  IFS=- read -r _ model lr range gamma radius <<<"$1"
  WORDS="$model, learning rate $lr, start in ±$range"
  OPTIONS=("${SKELETON[@]}" --arch "$model" "${NARROW[@]}" --lr "$lr" --init-range "$range"
    --max-update "$TUNE_UPDATES")
  if [[ -n $gamma ]]; then
    WORDS+=", input scale $gamma after division by the fan-in, radius $radius"
    OPTIONS+=(--input-norm fan_in --gamma-init "$gamma" --radius-init "$radius")
  fi
}

# define_arm NAME: sets WORDS and OPTIONS.
define_arm() {
  local value=${1##*_}
  case $1 in
    tune-*) define_tuning "$1" ;;
    rnmt_plus)
      WORDS="fully trained, layer-normed LSTM; the ladder's last row"
      OPTIONS=("${RNMT_PLUS[@]}" "${NARROW[@]}" "${RNMT_START[@]}")
      ;;
    esnmt)
      WORDS="frozen simple cells"
      OPTIONS=("${ESNMT[@]}" "${NARROW[@]}" "${ESNMT_START[@]}" "${LEARNED[@]}")
      ;;
    esnmt_lstm)
      WORDS="frozen LSTM cells; the ladder's row + attention"
      OPTIONS=("${ESNMT_LSTM[@]}" "${NARROW[@]}" "${LSTM_START[@]}")
      ;;
    esnmt_faithful)
      WORDS="frozen simple cells with the paper's input scale of 10, not normalised"
      OPTIONS=("${SKELETON[@]}" --arch esnmt "${NARROW[@]}" --lr "$ESNMT_LR" --echo-start paper)
      ;;
    esnmt_lstm_faithful)
      WORDS="frozen LSTM cells with the paper's input scale of 10, not normalised"
      OPTIONS=("${SKELETON[@]}" --arch esnmt_lstm "${NARROW[@]}" --lr "$LSTM_LR" --echo-start paper)
      ;;
    release_*)
      WORDS="ladder: frozen LSTM cells, --release $value"
      OPTIONS=("${ESNMT_LSTM[@]}" "${NARROW[@]}" "${LSTM_START[@]}" --release "$value")
      ;;
    gamma_*)
      WORDS="frozen simple cells, input scale $value, not normalised"
      OPTIONS=("${ESNMT[@]}" "${NARROW[@]}" "${ESNMT_START[@]}" "${LEARNED[@]}"
        --gamma-init "$value" --input-norm none)
      ;;
    lstm_fan_in_*)
      WORDS="frozen LSTM cells, input scale $value after division by the fan-in"
      OPTIONS=("${ESNMT_LSTM[@]}" "${NARROW[@]}" "${LSTM_START[@]}" --gamma-init "$value")
      ;;
    fan_in_*)
      WORDS="frozen simple cells, input scale $value after division by the fan-in"
      OPTIONS=("${ESNMT[@]}" "${NARROW[@]}" "${ESNMT_START[@]}" "${LEARNED[@]}"
        --gamma-init "$value")
      ;;
    radius_*)
      WORDS="frozen simple cells, spectral radius $value in all layers"
      OPTIONS=("${ESNMT[@]}" "${NARROW[@]}" "${ESNMT_START[@]}" --spectral-radius "$value")
      ;;
    esnmt_wide)
      WORDS="frozen simple cells, twice as wide"
      OPTIONS=("${ESNMT[@]}" "${WIDE[@]}" "${ESNMT_START[@]}" "${LEARNED[@]}"
        --init-range "$(wider "$ESNMT_RANGE")")
      ;;
    esnmt_lstm_wide)
      WORDS="frozen LSTM cells, twice as wide"
      OPTIONS=("${ESNMT_LSTM[@]}" "${WIDE[@]}" "${LSTM_START[@]}"
        --init-range "$(wider "$LSTM_RANGE")")
      ;;
    sparsity_*)
      WORDS="frozen simple cells, share of pruned weights $value"
      OPTIONS=("${ESNMT[@]}" "${NARROW[@]}" "${ESNMT_START[@]}" "${LEARNED[@]}"
        --reservoir-sparsity "$value")
      ;;
    leak_*)
      WORDS="frozen simple cells that keep part of their state, leak rate $value"
      OPTIONS=("${ESNMT[@]}" "${NARROW[@]}" "${ESNMT_START[@]}" "${LEARNED[@]}"
        --leak-rate "$value")
      ;;
    scales_per_gate)
      WORDS="frozen LSTM cells, radius and input scale learned for each gate"
      OPTIONS=("${ESNMT_LSTM[@]}" "${NARROW[@]}" "${LSTM_START[@]}" --scales-per-gate)
      ;;
    transformer)
      WORDS="Transformer, twice as many encoder layers"
      OPTIONS=("${TRANSFORMER[@]}")
      ;;
    transformer_frozen)
      WORDS="the same, every second encoder layer frozen at random"
      OPTIONS=("${TRANSFORMER[@]}" --frozen-encoder-layers "$(seq -s, 1 2 "$((LAYERS * 2 - 1))")")
      ;;
    *) die "no arm '$1'; known are ${ALL_ARMS[*]}" ;;
  esac
}
