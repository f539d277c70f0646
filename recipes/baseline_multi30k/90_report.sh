#!/usr/bin/env bash
# The table of everything in the ledger, with fairseq's own model as the row to compare with.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lab report
