#!/usr/bin/env bash
# A table for each set of arms and direction, the verdicts on all claims, and the figures.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lab report
