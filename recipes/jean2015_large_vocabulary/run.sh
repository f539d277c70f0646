#!/usr/bin/env bash
# All steps of this recipe; `python -m recipes.lab settings jean2015_large_vocabulary` lists its settings.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

all_steps
