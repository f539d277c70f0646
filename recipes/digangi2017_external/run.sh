#!/usr/bin/env bash
# All steps of this recipe; `python -m recipes.lab settings digangi2017_external` lists its settings.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

all_steps
