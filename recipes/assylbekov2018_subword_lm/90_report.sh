#!/usr/bin/env bash
# The table of all runs, and the verdicts on the paper's claims.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lab report
