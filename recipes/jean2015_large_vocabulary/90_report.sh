#!/usr/bin/env bash
# A table of the models and one of the decodings, the paper's table and claims, and the curves.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lab report
