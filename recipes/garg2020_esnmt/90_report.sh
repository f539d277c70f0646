#!/usr/bin/env bash
# The table of all runs, the verdicts on the paper's claims, and the figures.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lab report
