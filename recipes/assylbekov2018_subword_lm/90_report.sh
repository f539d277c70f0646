#!/usr/bin/env bash
# The table of everything in the ledger, and what it says about the paper's claims.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lab report
