#!/usr/bin/env bash
# The table of everything in the ledger, the paper's claims, and the figures.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lab report
