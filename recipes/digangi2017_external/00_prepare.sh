#!/usr/bin/env bash
# For every size: parallel text, word vectors, tables with dictionaries, binarized data.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# Monolingual text, tokenized like the parallel text.
monolingual_captions() {
  local text=$1
  download multi30k-mono "$RAW"
  cat "$RAW"/captions.*."$SOURCE" >"$RAW/captions.$SOURCE"
  "$PYTHON" data_prep/tokenize_corpus.py --input "$RAW/captions" --output "${text%."$SOURCE"}" \
    --languages "$SOURCE" --lowercase
}

monolingual_ptb() {
  download ptb "$RAW"
  # Remove the Treebank's <unk> and N (a number), which are not words.
  sed 's/<unk>//g; s/\bN\b//g' "$RAW/ptb.train.txt" >"$1.partial"
  mv "$1.partial" "$1"
}

# vectors_of VECTORS: sets VECTORS_PATH.
vectors_of() {
  local text=$WORK/mono.$1.$SOURCE made_of
  VECTORS_PATH=$WORK/vectors.$1.$METHOD$VECTOR_DIM.vec
  case $1 in
    captions | ptb)
      step "vectors from $1"
      if [[ ! -e $text ]]; then "monolingual_$1" "$text"; fi
      made_of=("$SOURCE" "$(checksums "$text")") # their name has no language
      if ! newer "$VECTORS_PATH" "$text" || ! kept "$VECTORS_PATH" "${made_of[@]}"; then
        note_options "$VECTORS_PATH" unfinished
        "$PYTHON" data_prep/train_embeddings.py --input "$text" --output "$VECTORS_PATH" \
          --method "$METHOD" --dimensions "$VECTOR_DIM"
        note_options "$VECTORS_PATH" "${made_of[@]}"
      fi
      made "$VECTORS_PATH"
      ;;
    file)
      [[ -n $VECTORS_FILE ]] || die "VECTORS=file needs VECTORS_FILE"
      VECTORS_PATH=$VECTORS_FILE
      ;;
    *) die "VECTORS: no kind '$1'; known are captions, ptb, file" ;;
  esac
}

# The files of vectors with size and time; checksums of gigabytes would take too long.
state_of() { find -L "$1" -type f -printf '%p %s %T@\n' 2>/dev/null | sort || true; }

# make_text SIZE: the first pairs of the training text; segments the target side if required.
make_text() {
  local size=$1 text split pairs files options
  text=$(ask text_of "$size")
  files=("$TOKENIZED"/{train,valid,test}.{"$SOURCE","$TARGET"})
  options=("$SOURCE" "$TARGET" "$(checksums "${files[@]}")")
  if newer "$text/done" "${files[@]}" && kept "$text/done" "${options[@]}"; then return; fi
  rm -rf "$text"
  mkdir -p "$text"
  for split in train valid test; do
    cp "$TOKENIZED/$split.$SOURCE" "$TOKENIZED/$split.$TARGET" "$text"
  done
  if [[ $size != all ]]; then
    for language in "$SOURCE" "$TARGET"; do
      head -n "$size" "$TOKENIZED/train.$language" >"$text/train.$language"
    done
    pairs=$(wc -l <"$text/train.$SOURCE")
    ((pairs == size)) || die "SIZES: $size pairs, but $TOKENIZED/train.$SOURCE has $pairs"
  fi
  if [[ $TARGET_SEGMENTATION == bpe ]]; then
    "$PYTHON" data_prep/segment.py learn --merges "$BPE_MERGES" --output "$text/codes" \
      --inputs "$text/train.$TARGET"
    for split in train valid test; do
      mv "$text/$split.$TARGET" "$text/words.$split.$TARGET"
      "$PYTHON" data_prep/segment.py apply --codes "$text/codes" --input "$text/words.$split" \
        --output "$text/$split" --languages "$TARGET"
    done
  fi
  note_options "$text/done" "${options[@]}"
  touch "$text/done"
}

if [[ $SETTING == multi30k ]]; then multi30k_lowercase; fi
for size in $SIZES; do
  make_text "$size"
done
target_options=(--thresholdtgt "$([[ $TARGET_SEGMENTATION == bpe ]] && echo 0 || echo "$TARGET_MIN_COUNT")")
if [[ -n $TARGET_VOCABULARY ]]; then target_options=(--nwordstgt "$TARGET_VOCABULARY"); fi
for vectors in $VECTORS; do
  vectors_of "$vectors"
  # A table has the name of the file of vectors, but not its folder.
  state=$(state_of "$VECTORS_PATH")
  for size in $SIZES; do
    text=$(ask text_of "$size") table=$(ask table_of "$size" "$vectors")
    bin=$(ask bin_of "$size" "$vectors")
    step "table of $vectors vectors for $size pairs"
    if ! newer "$table.npy" "$VECTORS_PATH" "$text/done" || ! kept "$table.npy" "$state"; then
      rm -rf "$bin"
      note_options "$table.npy" unfinished
      "$PYTHON" data_prep/extract_embeddings.py --vectors "$VECTORS_PATH" \
        --train "$text/train.$SOURCE" --text "$text/valid.$SOURCE" "$text/test.$SOURCE" \
        --output "$table" | tee "$table.coverage.txt"
      note_options "$table.npy" "$state"
    fi
    made "$table.coverage.txt"
    binarize "$SOURCE" "$TARGET" "$text/train" "$text/valid" "$text/test" "$bin" \
      --srcdict "$table.dict.txt" "${target_options[@]}"
  done
done
