#!/usr/bin/env bash
# Decode the models of the main table with several length penalties, on the validation and test sets.
# The report uses the one that is best on the validation set.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lines_of decodings ask decodings
lab run --these "${decodings[@]}"
