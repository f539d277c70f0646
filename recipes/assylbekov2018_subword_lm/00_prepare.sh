#!/usr/bin/env bash
# Download and binarize the texts of the arms, and split their words into units.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# first_lines FILE NUMBER OUT: NUMBER may be "all".
first_lines() {
  if ! newer "$3" "$1"; then
    mkdir -p "$(dirname "$3")"
    if [[ $2 == all ]]; then cp "$1" "$3.partial"; else sed -n "1,${2}p" "$1" >"$3.partial"; fi
    mv "$3.partial" "$3"
  fi
}

# captions LANGUAGE: Multi30k's captions, tokenized and lower-cased.
captions() {
  local split out=$WORK/captions
  download multi30k "$WORK/raw"
  for split in train:train valid:val test:test_2016_flickr; do
    tokenize_one "$WORK/raw/${split#*:}.$1" "$out/$1/${split%:*}.txt" "$1"
  done
}

# tokenize_one INPUT OUTPUT LANGUAGE
tokenize_one() {
  if newer "$2" "$1"; then return; fi
  mkdir -p "$(dirname "$2")"
  "$PYTHON" data_prep/tokenize_corpus.py --input "${1%.*}" --output "$2.partial" --languages "$3" \
    --lowercase
  mv "$2.partial.$3" "$2"
}

# texts_of DATA TRAINING-TEXT: sets TRAIN, VALID, TEST and COUNT, the minimum count of a word.
texts_of() {
  local data=$1 language number
  COUNT=1 TRAIN=$2
  case $data in
    ptb | ptb42k)
      download ptb "$WORK/raw"
      first_lines "$WORK/raw/ptb.train.txt" "$(ask sentences "$data")" "$TRAIN"
      VALID=$WORK/raw/ptb.valid.txt TEST=$WORK/raw/ptb.test.txt
      ;;
    en5k | en15k | en29k | de5k | de15k | de29k | fr5k | fr15k | fr29k)
      language=${data:0:2} number=${data:2}
      captions "$language"
      first_lines "$WORK/captions/$language/train.txt" "${number%k}000" "$TRAIN"
      COUNT=$MIN_COUNT
      VALID=$WORK/captions/$language/valid.txt TEST=$WORK/captions/$language/test.txt
      ;;
    mono_en | mono_de)
      language=${data#mono_}
      captions "$language"
      download multi30k-mono "$WORK/raw"
      for number in 1 2 3 4 5; do
        tokenize_one "$WORK/raw/captions.$number.$language" \
          "$WORK/captions/$language/mono.$number.txt" "$language"
      done
      COUNT=$MIN_COUNT
      if ! newer "$TRAIN" "$WORK/captions/$language"/mono.?.txt; then
        mkdir -p "$WORK/text"
        into "$TRAIN" cat "$WORK/captions/$language"/mono.?.txt
      fi
      VALID=$WORK/captions/$language/valid.txt TEST=$WORK/captions/$language/test.txt
      ;;
    *)
      VALID=$TEXTS/$data/valid.txt TEST=$TEXTS/$data/test.txt
      for file in "$TRAIN" "$VALID" "$TEST"; do
        [[ -f $file ]] || die "DATA $data is not built in, and there is no $file (TEXTS=$TEXTS)"
      done
      ;;
  esac
}

# units_of FOLDER DATA PATTERNS: tables of morphs and syllables beside the dictionary.
units_of() {
  local folder=$1 kind options
  for kind in morphs syllables; do
    if newer "$folder/$kind.txt" "$folder/dict.txt"; then continue; fi
    step "$kind of $2"
    options=(--units "$kind")
    if [[ $kind == syllables ]]; then options+=(--language "$3"); fi
    "$PYTHON" data_prep/build_subword_table.py "$folder/dict.txt" "${options[@]}"
  done
}

needed=$(ask data_needed)
while IFS=$'\t' read -r data folder text patterns; do
  texts_of "$data" "$text"
  binarize_text "$TRAIN" "$VALID" "$TEST" "$folder" --thresholdsrc "$COUNT"
  units_of "$folder" "$data" "$patterns"
done <<<"$needed"
