#!/usr/bin/env bash
# The table of all runs, with fairseq's model as the baseline.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lab report
