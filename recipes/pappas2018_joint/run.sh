#!/usr/bin/env bash
# All steps of this recipe; `python -m recipes.lab settings pappas2018_joint` lists its settings.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

all_steps
