# What the steps of this recipe share: every setting (override it in the environment) and the arms.
#
#   SEGMENTATION=bpe     bpe or words (18.7k German types)
#   BPE_MERGES=4000      joint merges, with SEGMENTATION=bpe
#   SEEDS="1"            one run of every arm for each
#   EPOCHS=10  MAX_TOKENS=1000  DIM=128  LAYERS=2  DROPOUT=0.3  LR=0.003  CLIP=5  BEAM=5
#   ARMS="..."           which arms, in order of priority (default: all of them)
#   SPEED_UPDATES=40  SPEED_ROUNDS=3     of step 80
# and those of recipes/common.sh: TIME_BUDGET, FORCE, THREADS, OUTLAYERS_DATA and so on.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

: "${SEGMENTATION:=bpe}" "${BPE_MERGES:=4000}" "${SEEDS:=1}"
# Small batches and a high learning rate. With half as many updates at a third of the rate, the arms
# end while they learn to attend, and a seed decides by as much as 13 BLEU (see README.md).
: "${EPOCHS:=10}" "${MAX_TOKENS:=1000}" "${DIM:=128}" "${LAYERS:=2}" "${DROPOUT:=0.3}"
: "${LR:=0.003}" "${CLIP:=5}" "${BEAM:=5}"
: "${SPEED_UPDATES:=40}" "${SPEED_ROUNDS:=3}"

# The first is the one that the report tests the others against.
ALL_ARMS=(stock_lstm luong_linear luong_tied transformer_linear transformer_tied)
read -ra ARMS <<<"${ARMS:-${ALL_ARMS[*]}}"

SOURCE=en TARGET=de
RAW=$WORK/raw
TOKENIZED=$WORK/tokenized
case $SEGMENTATION in
  words) TEXT=$TOKENIZED BIN=$WORK/bin.words ;;
  bpe) TEXT=$WORK/bpe$BPE_MERGES BIN=$WORK/bin.bpe$BPE_MERGES ;;
  *) die "SEGMENTATION=$SEGMENTATION: known are words and bpe" ;;
esac

# Without a limit a weak model repeats itself up to fairseq's 200 tokens.
GENERATE="--beam $BEAM --max-tokens 4000 --max-len-a 1.2 --max-len-b 5"
if [[ $SEGMENTATION == bpe ]]; then GENERATE+=" --post-process subword_nmt"; fi
ARM_OPTIONS=(--data "$BIN" --reference "$TOKENIZED/test.$TARGET"
  --raw-reference "$RAW/test_2016_flickr.$TARGET" --language "$TARGET" --lowercase)

COMMON=(--source-lang "$SOURCE" --target-lang "$TARGET" --optimizer adam --lr "$LR"
  --clip-norm "$CLIP" --max-tokens "$MAX_TOKENS" --max-epoch "$EPOCHS" --dropout "$DROPOUT"
  --log-interval 25 --num-workers 0)
# Halve the learning rate after an epoch without progress on the validation set.
HALVING=(--lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 --lr-patience 0)
# Both start in ±0.1, which is what fairseq's starts in; ours alone would start in a range that suits
# its size, and learn faster.
LUONG=("${COMMON[@]}" "${HALVING[@]}" --arch luong_lstm --init-range 0.1 --embed-dim "$DIM" --hidden-size "$DIM"
  --encoder-layers "$LAYERS" --decoder-layers "$LAYERS" --embedding-dropout "$DROPOUT"
  --criterion full_softmax)
STOCK=("${COMMON[@]}" "${HALVING[@]}" --arch lstm
  --encoder-embed-dim "$DIM" --encoder-hidden-size "$DIM" --encoder-layers "$LAYERS"
  --decoder-embed-dim "$DIM" --decoder-hidden-size "$DIM" --decoder-out-embed-dim "$DIM"
  --decoder-layers "$LAYERS" --criterion cross_entropy)
TRANSFORMER=("${COMMON[@]}" --lr-scheduler inverse_sqrt --warmup-updates 400
  --arch transformer_outlayers --criterion full_softmax
  --encoder-embed-dim "$DIM" --encoder-ffn-embed-dim "$((DIM * 4))" --encoder-layers "$LAYERS"
  --decoder-embed-dim "$DIM" --decoder-ffn-embed-dim "$((DIM * 4))" --decoder-layers "$LAYERS"
  --encoder-attention-heads 4 --decoder-attention-heads 4)

# define_arm NAME: sets WORDS and OPTIONS.
define_arm() {
  case $1 in
    luong_linear)
      WORDS="our LSTM with attention, a free vector for every output word"
      OPTIONS=("${LUONG[@]}" --output-layer linear)
      ;;
    luong_tied)
      WORDS="the same, output words share the vectors of the decoder's input words"
      OPTIONS=("${LUONG[@]}" --output-layer tied)
      ;;
    stock_lstm)
      WORDS="fairseq's own LSTM with attention, everything at its default"
      OPTIONS=("${STOCK[@]}")
      ;;
    transformer_linear)
      WORDS="fairseq's Transformer with our linear output layer"
      OPTIONS=("${TRANSFORMER[@]}" --output-layer linear)
      ;;
    transformer_tied)
      WORDS="fairseq's Transformer with our tied output layer"
      OPTIONS=("${TRANSFORMER[@]}" --output-layer tied)
      ;;
    *) die "no arm '$1'; known are ${ALL_ARMS[*]}" ;;
  esac
}
