# Sourced by every step of every recipe. Provides:
#
#   ROOT, WORK, RESULTS, LEDGER, PYTHON   paths, and every setting of the recipe
#   lab COMMAND ...                       python -m recipes.lab COMMAND RECIPE ... (see there)
#   ask METHOD ...                        call a method of the recipe in arms.py
#   lines_of ARRAY COMMAND ...            an array of the lines that a command prints
#   all_steps                             run the numbered steps of the recipe
#   step MESSAGE                          announce a step
#   made FILE...                          report the files of a step
#   newer FILE THAN...                    whether FILE exists and is newer than all others
#   made_with FILE OPTIONS...             whether FILE was made with these options
#   note_options FILE OPTIONS...          store them for made_with
#   kept FILE OPTIONS...                  the same as made_with, or FILE has no note: then notes them
#   checksums FILE...                     of their contents, as an option of what is made from them
#   into FILE COMMAND ...                 write the output of a command that succeeds to FILE
#   download / tokenize / segment_bpe     run data_prep if needed
#   binarize / binarize_text              run fairseq-preprocess if needed
#
# A second 00_prepare.sh of the same WORK waits for the first.
#
# Settings are declared in arms.py and overridden in the environment;
# `python -m recipes.lab settings RECIPE` lists them.
set -euo pipefail

unset CDPATH # with it, cd may go elsewhere, and prints where it went
HERE=$(cd "$(dirname "${BASH_SOURCE[-1]}")" && pwd)
RECIPE=$(basename "$HERE")
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"
if [[ -n ${THREADS:-} ]]; then export OMP_NUM_THREADS=$THREADS; fi
# Avoids busy waiting of torch's threads, which made training four times slower with two other
# programs on a 2-core machine.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

# TIME_BUDGET counts from here, for the steps of run.sh from its own start.
export OUTLAYERS_STARTED=${OUTLAYERS_STARTED:-$(date +%s)}

die() {
  printf '%s: %s\n' "$RECIPE" "$*" >&2
  exit 1
}

step() { printf '\n== %s\n' "$*"; }

made() { printf '  %s\n' "$@"; }

# The absolute path of a Python with fairseq.
find_python() {
  local candidate path
  for candidate in "${OUTLAYERS_PYTHON:-}" "${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}" \
    .venv/bin/python python3; do
    path=$(command -v "${candidate:-/nowhere}") || path=
    if [[ -n $path ]] && "$path" - <<<'import importlib.util as i
raise SystemExit(not (i.find_spec("fairseq") and i.find_spec("sacrebleu")))' 2>/dev/null; then
      [[ $path == /* ]] || path=$ROOT/$path
      printf '%s\n' "$path"
      return
    fi
    # Do not silently replace a Python that was given explicitly.
    [[ -z $candidate || $candidate != "${OUTLAYERS_PYTHON:-}" ]] ||
      die "OUTLAYERS_PYTHON=$candidate has no fairseq"
  done
  die "found no Python with fairseq; run 'make setup', or set OUTLAYERS_PYTHON"
}

PYTHON=$(find_python)
PATH=$(dirname "$PYTHON"):$PATH
export PATH

lab() { "$PYTHON" -m recipes.lab "$1" "$RECIPE" "${@:2}"; }
ask() { lab ask "$@"; }

# If the command fails, so does the step, unlike with `mapfile < <(COMMAND)`.
lines_of() {
  local printed
  printed=$("${@:2}")
  mapfile -t "$1" < <(printf '%s' "${printed:+$printed$'\n'}")
}

if [[ -e $HERE/arms.py ]]; then
  declared=$(lab shell) # separate from eval, so that an invalid setting ends the step
  eval "$declared"
  # Two at once would write the same files; the lock ends with this process.
  if [[ ${BASH_SOURCE[-1]##*/} == 00_prepare.sh ]]; then
    mkdir -p "$WORK"
    exec 8>"$WORK/prepare.lock"
    if ! flock -n 8; then
      printf '  waiting for another 00_prepare.sh of %s\n' "$WORK"
      flock 8
    fi
  fi
fi

# The report is written even if a step fails, but nothing runs without prepared data, or after a
# step that was interrupted (130) or killed. Tuning runs do not follow ARMS and need other data.
all_steps() {
  local file status=0
  "$HERE/00_prepare.sh"
  for file in "$HERE"/[0-9][0-9]_*.sh; do
    if [[ $file == */00_prepare.sh ]]; then continue; fi
    if [[ $file == */05_tune.sh && -n ${ARMS:-} && -z ${TUNE:-} ]]; then
      step "no 05_tune.sh: ARMS is set, and TUNE is not"
      continue
    fi
    "$file" || status=$?
    ((status < 128)) || return "$status"
  done
  return "$status"
}

newer() {
  local file=$1 other
  shift
  [[ -e $file ]] || return 1
  for other in "$@"; do
    [[ $file -nt $other ]] || return 1
  done
}

made_with() { [[ -e $1.options && $(<"$1.options") == "${*:2}" ]]; }

note_options() { printf '%s\n' "${*:2}" >"$1.options"; }

# Of a file without a note, which is of before there were any, the options are taken to be these.
kept() {
  [[ -e $1.options ]] || note_options "$@"
  made_with "$@"
}

# By the time alone, an input that was replaced by an older file would not be noticed. A missing
# file is reported by the program that reads it.
checksums() {
  local file
  for file; do cksum <"$file" || true; done 2>/dev/null
}

# A file of results is replaced only by the whole output.
into() {
  "${@:2}" >"$1.partial" || {
    local status=$?
    rm -f "$1.partial"
    return "$status"
  }
  mv "$1.partial" "$1"
}

# download NAME DIR
download() {
  step "data set $1"
  "$PYTHON" data_prep/download.py "$1" --out "$2"
}

# tokenize INPUT-PREFIX OUTPUT-PREFIX SOURCE TARGET [OPTIONS...]
tokenize() {
  local input=$1 output=$2 languages=("$3" "$4") options
  shift 4
  # A filter drops lines of both languages, so one side depends on the other.
  options=("${languages[@]}" "$@" "$(checksums "$input.${languages[0]}" "$input.${languages[1]}")")
  if newer "$output.${languages[0]}" "$input.${languages[0]}" &&
    newer "$output.${languages[1]}" "$input.${languages[1]}" &&
    { kept "$output" "${options[@]}" || made_with "$output" "$@"; }; then
    note_options "$output" "${options[@]}" # older notes have no checksums
    made "$output.${languages[0]} (exists)"
    return
  fi
  note_options "$output" unfinished
  "$PYTHON" data_prep/tokenize_corpus.py --input "$input" --output "$output" \
    --languages "${languages[@]}" "$@"
  note_options "$output" "${options[@]}"
}

# multi30k_lowercase: download Multi30k to RAW; tokenize and lower-case it to TOKENIZED.
multi30k_lowercase() {
  local split
  download multi30k "$RAW"
  step "tokenize, lower case"
  mkdir -p "$TOKENIZED"
  for split in train:train valid:val test:test_2016_flickr; do
    tokenize "$RAW/${split#*:}" "$TOKENIZED/${split%:*}" "$SOURCE" "$TARGET" --lowercase
  done
}

# segment_bpe INPUT-FOLDER OUTPUT-FOLDER MERGES SOURCE TARGET: joint BPE of train, valid and test.
segment_bpe() {
  local input=$1 output=$2 merges=$3 languages=("$4" "$5") split files options
  step "BPE with $merges merges"
  mkdir -p "$output"
  files=("$input/train.$4" "$input/train.$5")
  options=("${languages[@]}" "$merges" "$(checksums "${files[@]}")")
  if ! newer "$output/codes" "${files[@]}" || ! kept "$output/codes" "${options[@]}"; then
    note_options "$output/codes" unfinished
    "$PYTHON" data_prep/segment.py learn --merges "$merges" --output "$output/codes" \
      --inputs "${files[@]}"
    note_options "$output/codes" "${options[@]}"
  fi
  for split in train valid test; do
    files=("$output/codes" "$input/$split.$4" "$input/$split.$5")
    options=("${languages[@]}" "$(checksums "${files[@]}")")
    if ! newer "$output/$split.$4" "${files[@]}" || ! newer "$output/$split.$5" "${files[@]}" ||
      ! kept "$output/$split" "${options[@]}"; then
      note_options "$output/$split" unfinished
      "$PYTHON" data_prep/segment.py apply --codes "$output/codes" --input "$input/$split" \
        --output "$output/$split" --languages "${languages[@]}"
      note_options "$output/$split" "${options[@]}"
    fi
  done
  made "$output"
}

# binarize SOURCE TARGET TRAIN-PREFIX VALID-PREFIX TEST-PREFIX DESTINATION [OPTIONS...]
binarize() {
  local source=$1 target=$2 train=$3 valid=$4 test=$5 destination=$6 prefix files=()
  shift 6
  for prefix in "$train" "$valid" "$test"; do
    files+=("$prefix.$source" "$prefix.$target")
  done
  preprocess "$destination" "${files[@]}" -- --source-lang "$source" --target-lang "$target" \
    --trainpref "$train" --validpref "$valid" --testpref "$test" "$@"
}

# binarize_text TRAIN VALID TEST DESTINATION [OPTIONS...]: for language models.
binarize_text() {
  local train=$1 valid=$2 test=$3 destination=$4
  shift 4
  preprocess "$destination" "$train" "$valid" "$test" -- --only-source \
    --trainpref "$train" --validpref "$valid" --testpref "$test" "$@"
}

# preprocess DESTINATION FILES... -- OPTIONS...
#
# --padding-factor 1: otherwise fairseq pads the dictionary with symbols that are softmax classes.
preprocess() {
  local destination=$1 files=() sums
  shift
  while [[ $1 != -- ]]; do
    files+=("$1")
    shift
  done
  shift
  step "binarize into $destination"
  # Another run of the step waits; the lock ends with this one.
  mkdir -p "$(dirname "$destination")"
  exec 9>"$destination.lock"
  flock 9
  # Data are also made again with other options (such as the size of a dictionary). Old data have no
  # file of options, or none of checksums.
  sums=$(checksums "${files[@]}")
  if newer "$destination/preprocess.log" "${files[@]}" &&
    [[ ! -e $destination/options || $(<"$destination/options") == "$*" ]] &&
    [[ ! -e $destination/checksums || $(<"$destination/checksums") == "$sums" ]]; then
    made "$destination (exists)"
    return
  fi
  # Use a temporary folder: fairseq-preprocess does not overwrite, and an incomplete folder must not be
  # used.
  rm -rf "$destination.partial"
  local log=$destination.log
  if ! fairseq-preprocess --padding-factor 1 "$@" \
    --destdir "$destination.partial" >"$log" 2>&1; then
    tail -n 12 "$log" >&2
    die "fairseq-preprocess failed; see $log"
  fi
  printf '%s\n' "$*" >"$destination.partial/options"
  printf '%s\n' "$sums" >"$destination.partial/checksums"
  touch "$destination.partial/preprocess.log"
  rm -rf "$destination"
  mv "$destination.partial" "$destination"
  made "$destination" "$log"
}
