# What the steps of this recipe share: every setting (override it in the environment) and the arms.
#
#   SOURCE=en TARGET=de  languages of Multi30k
#   BPE_MERGES=4000      joint merges
#   SEEDS="1"            one run of every arm for each
#   DIM=128 LAYERS=3     width of the models and layers of each side (the paper: 512, 6)
#   EPOCHS=5  MAX_TOKENS=2000  DROPOUT=0.3  LR=0.002  SMOOTHING=0.1  CLIP=5  BEAM=5
#   GAMMA=1 INPUT_NORM=fan_in   the recommended scale of the inputs, in all arms not named otherwise
#   ARMS="..."           which arms, in order of priority (default: all of them)
# and those of recipes/common.sh: TIME_BUDGET, FORCE, THREADS, OUTLAYERS_DATA and so on.
set -euo pipefail
OUTLAYERS_RESULTS=${OUTLAYERS_RESULTS:-results/garg2020}
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

: "${SOURCE:=en}" "${TARGET:=de}" "${BPE_MERGES:=4000}" "${SEEDS:=1}" "${DIM:=128}" "${LAYERS:=3}"
: "${EPOCHS:=5}" "${MAX_TOKENS:=2000}" "${DROPOUT:=0.3}" "${LR:=0.002}" "${SMOOTHING:=0.1}"
: "${CLIP:=5}" "${BEAM:=5}" "${GAMMA:=1}" "${INPUT_NORM:=fan_in}"

# By priority: main table, ladder (its rows "attention" and "all" are esnmt_lstm and rnmt_plus),
# scale of the inputs, fixed radii, width, sparsity, beyond the paper.
MAIN=(rnmt_plus esnmt esnmt_lstm esnmt_faithful esnmt_lstm_faithful)
LADDER=(release_softmax release_embeddings release_decoder release_encoder)
SCALES=(gamma_1 gamma_0.1 fan_in_0.3 fan_in_3 fan_in_10)
RADII=(radius_0.9 radius_0.1 radius_2.0)
MORE=(esnmt_wide esnmt_lstm_wide sparsity_0 sparsity_0.75 leak_0.5 scales_per_gate
  transformer transformer_frozen)
# The first is the one that the report tests the others against.
ALL_ARMS=("${MAIN[@]}" "${LADDER[@]}" "${SCALES[@]}" "${RADII[@]}" "${MORE[@]}")
read -ra ARMS <<<"${ARMS:-${ALL_ARMS[*]}}"

RAW=$WORK/raw
TOKENIZED=$WORK/tokenized
TEXT=$WORK/bpe$BPE_MERGES
BIN=$WORK/bin.bpe$BPE_MERGES
GENERATE="--beam $BEAM --max-tokens 4000 --post-process subword_nmt"
ARM_OPTIONS=(--data "$BIN" --reference "$TOKENIZED/test.$TARGET"
  --raw-reference "$RAW/test_2016_flickr.$TARGET" --language "$TARGET" --lowercase)

# Recipe of RNMT+ (Chen et al. 2018), but for a learning rate and a schedule that suit an hour.
COMMON=(--source-lang "$SOURCE" --target-lang "$TARGET" --optimizer adam --adam-betas "(0.9,0.98)"
  --adam-eps 1e-6 --weight-decay 1e-5 --lr "$LR" --clip-norm "$CLIP" --max-tokens "$MAX_TOKENS"
  --max-epoch "$EPOCHS" --dropout "$DROPOUT" --criterion full_softmax
  --label-smoothing "$SMOOTHING" --log-interval 25 --num-workers 0
  --lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 --lr-patience 0)
SKELETON=("${COMMON[@]}" --encoder-layers "$LAYERS" --decoder-layers "$LAYERS")
NARROW=(--embed-dim "$DIM" --hidden-size "$DIM")
WIDE=(--embed-dim "$((DIM * 2))" --hidden-size "$((DIM * 2))")
RECOMMENDED=(--gamma-init "$GAMMA" --input-norm "$INPUT_NORM")
ESNMT=("${SKELETON[@]}" --arch esnmt)
ESNMT_LSTM=("${SKELETON[@]}" --arch esnmt_lstm)
TRANSFORMER=("${COMMON[@]}" --arch transformer_outlayers --lr 0.001 --warmup-updates 400
  --encoder-layers "$((LAYERS * 2))" --decoder-layers "$LAYERS"
  --encoder-embed-dim "$DIM" --encoder-ffn-embed-dim "$((DIM * 4))"
  --decoder-embed-dim "$DIM" --decoder-ffn-embed-dim "$((DIM * 4))"
  --encoder-attention-heads 4 --decoder-attention-heads 4)

# define_arm NAME: sets WORDS and OPTIONS.
define_arm() {
  local value=${1##*_}
  case $1 in
    rnmt_plus)
      WORDS="fully trained, layer-normed LSTM; the ladder's last row"
      OPTIONS=("${SKELETON[@]}" --arch rnmt_plus "${NARROW[@]}")
      ;;
    esnmt)
      WORDS="frozen simple cells, recommended scale of the inputs"
      OPTIONS=("${ESNMT[@]}" "${NARROW[@]}" "${RECOMMENDED[@]}")
      ;;
    esnmt_lstm)
      WORDS="frozen LSTM cells, recommended scale; the ladder's row + attention"
      OPTIONS=("${ESNMT_LSTM[@]}" "${NARROW[@]}" "${RECOMMENDED[@]}")
      ;;
    esnmt_faithful)
      WORDS="frozen simple cells with the paper's input scale of 10, not normalised"
      OPTIONS=("${ESNMT[@]}" "${NARROW[@]}" --gamma-init 10 --input-norm none)
      ;;
    esnmt_lstm_faithful)
      WORDS="frozen LSTM cells with the paper's input scale of 10, not normalised"
      OPTIONS=("${ESNMT_LSTM[@]}" "${NARROW[@]}" --gamma-init 10 --input-norm none)
      ;;
    release_*)
      WORDS="ladder: frozen LSTM cells, --release $value"
      OPTIONS=("${ESNMT_LSTM[@]}" "${NARROW[@]}" "${RECOMMENDED[@]}" --release "$value")
      ;;
    gamma_*)
      WORDS="frozen simple cells, input scale $value, not normalised"
      OPTIONS=("${ESNMT[@]}" "${NARROW[@]}" --gamma-init "$value" --input-norm none)
      ;;
    fan_in_*)
      WORDS="frozen simple cells, input scale $value after division by the fan-in"
      OPTIONS=("${ESNMT[@]}" "${NARROW[@]}" --gamma-init "$value" --input-norm fan_in)
      ;;
    radius_*)
      WORDS="frozen simple cells, spectral radius $value in all layers"
      OPTIONS=("${ESNMT[@]}" "${NARROW[@]}" "${RECOMMENDED[@]}" --spectral-radius "$value")
      ;;
    esnmt_wide)
      WORDS="frozen simple cells, twice as wide"
      OPTIONS=("${ESNMT[@]}" "${WIDE[@]}" "${RECOMMENDED[@]}")
      ;;
    esnmt_lstm_wide)
      WORDS="frozen LSTM cells, twice as wide"
      OPTIONS=("${ESNMT_LSTM[@]}" "${WIDE[@]}" "${RECOMMENDED[@]}")
      ;;
    sparsity_*)
      WORDS="frozen simple cells, share of pruned weights $value"
      OPTIONS=("${ESNMT[@]}" "${NARROW[@]}" "${RECOMMENDED[@]}" --reservoir-sparsity "$value")
      ;;
    leak_*)
      WORDS="frozen simple cells that keep part of their state, leak rate $value"
      OPTIONS=("${ESNMT[@]}" "${NARROW[@]}" "${RECOMMENDED[@]}" --leak-rate "$value")
      ;;
    scales_per_gate)
      WORDS="frozen LSTM cells, radius and input scale learned for each gate"
      OPTIONS=("${ESNMT_LSTM[@]}" "${NARROW[@]}" "${RECOMMENDED[@]}" --scales-per-gate)
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
