#!/usr/bin/env bash
# Tables of models and decodings, the paper's table and claims, and the curves.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lab report
