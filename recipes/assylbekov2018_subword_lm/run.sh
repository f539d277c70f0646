#!/usr/bin/env bash
# All steps of this recipe; `python -m recipes.lab settings assylbekov2018_subword_lm` lists its settings.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

all_steps
