# Sourced by settings.sh: the sets of arms that the paper's tables and figures need.
#
#   SETS="translation sampling ..."   which sets, in order of priority (default: all of them)
#   ARMS="de-en.bpe4000.tied ..."     these arms alone, whatever SETS says
#
# and the axes of the sets:
#
#   DIRECTIONS="de-en en-de"     the other sets use the first
#   VOCABULARY=bpe4000           words, or joint BPE of so many merges; of all sets but two:
#   SAMPLING_VOCABULARY=words    sampling needs a vocabulary much larger than a batch's types
#   VOCABULARIES="bpe1000 ..."   of the set vocabulary
#   JOINT_DIMS="128 256"         rising; d_j of the joint model wherever it is compared with others
#   SWEEP_DIMS="32 64 ..."       d_j of the set joint_dim
#   SHARES="50 25 5"             percent of the classes, beside all of them
#   DEPTHS="1 2 3 4"             layers a side
#
# An arm is DIRECTION.VOCABULARY.MODEL, and what is changed in it: de-en.words.tied.share25.
set -euo pipefail

case $SETTING in
  multi30k)
    : "${DIRECTIONS:=de-en en-de}" "${VOCABULARY:=bpe4000}" "${SAMPLING_VOCABULARY:=words}"
    : "${VOCABULARIES:=bpe1000 bpe4000 bpe8000}"
    : "${JOINT_DIMS:=128 256}" "${SWEEP_DIMS:=32 64 128 256 512}"
    ;;
  paper)
    : "${DIRECTIONS:=de-en en-de en-fi fi-en}" "${VOCABULARY:=bpe32000}"
    : "${SAMPLING_VOCABULARY:=bpe128000}" "${VOCABULARIES:=bpe32000 bpe64000 bpe128000}"
    : "${JOINT_DIMS:=512 2048}" "${SWEEP_DIMS:=512 2048 4096}"
    ;;
esac
: "${SHARES:=50 25 5}" "${DEPTHS:=1 2 3 4}"
ALL_SETS=(translation sampling joint_dim depth ablation vocabulary)
read -ra SETS <<<"${SETS:-${ALL_SETS[*]}}"
read -ra ARMS <<<"${ARMS:-}"

for name in "${SETS[@]}"; do
  [[ " ${ALL_SETS[*]} " == *" $name "* ]] || die "no set '$name'; known are ${ALL_SETS[*]}"
done

SMALL_JOINT=joint${JOINT_DIMS%% *}
FIRST_DIRECTION=${DIRECTIONS%% *}

# arm DIRECTION VOCABULARY MODEL: its name.
arm() {
  local name=$1.$2.$3
  # The authors' economy: 25% at 128k BPE merges, and for the large joint spaces at 64k.
  if [[ $SETTING == paper ]]; then
    case $2.$3 in
      bpe128000.* | bpe64000.joint2048 | bpe64000.joint4096) name+=.share25 ;;
    esac
  fi
  echo "$name"
}

joint_models() { printf 'joint%s\n' $JOINT_DIMS; }

translation_arms() {
  local model
  for model in nmt tied bilinear output_structure context_structure $(joint_models); do
    arm "$1" "$VOCABULARY" "$model"
  done
}

# with_shares DIRECTION MODEL...: each with all classes, then with every share of them.
with_shares() {
  local direction=$1 model share
  shift
  for model in "$@"; do
    echo "$direction.$SAMPLING_VOCABULARY.$model"
    for share in $SHARES; do echo "$direction.$SAMPLING_VOCABULARY.$model.share$share"; done
  done
}

sampling_arms() { with_shares "$1" nmt tied "$SMALL_JOINT"; }

joint_dim_arms() {
  local dim
  for dim in $SWEEP_DIMS; do arm "$1" "$VOCABULARY" "joint$dim"; done
}

# The depth of the other sets needs no arms of its own.
depth_arms() {
  local depth model name
  for depth in $DEPTHS; do
    for model in nmt tied "$SMALL_JOINT"; do
      name=$(arm "$1" "$VOCABULARY" "$model")
      if [[ $depth == "$LAYERS" ]]; then echo "$name"; else echo "$name.depth$depth"; fi
    done
  done
}

ablation_arms() {
  local model
  for model in "$SMALL_JOINT" "$SMALL_JOINT".{relu,sigmoid,linear,nobias,stacked2} \
    context_structure{,.allbias} output_structure{,.nobias} bilinear{,.allbias} deep_residual; do
    arm "$1" "$VOCABULARY" "$model"
  done
}

# Not trained to the end: the arms that take turns in step 80.
speed_arms() { with_shares "$FIRST_DIRECTION" nmt tied $(joint_models); }

vocabulary_arms() {
  local vocabulary model
  for vocabulary in $VOCABULARIES; do
    for model in nmt tied $(joint_models); do arm "$1" "$vocabulary" "$model"; done
  done
}

# arms_of SET DIRECTION: the names of its arms, those to compare with first.
arms_of() { "$1_arms" "$2"; }

# directions_of SET: the paper has some tables for every direction, others for one.
directions_of() {
  case $1 in
    translation | joint_dim | vocabulary) echo "$DIRECTIONS" ;;
    *) echo "$FIRST_DIRECTION" ;;
  esac
}

# all_arms: those of ARMS, else of SETS, each once, by priority.
all_arms() {
  local set direction
  if ((${#ARMS[@]})); then
    printf '%s\n' "${ARMS[@]}"
    return
  fi
  for set in "${SETS[@]}"; do
    for direction in $(directions_of "$set"); do arms_of "$set" "$direction"; done
  done | awk '!seen[$0]++'
}
