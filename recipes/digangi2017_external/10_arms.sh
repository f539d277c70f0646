#!/usr/bin/env bash
# Train and score every arm that is not in the ledger, by priority.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lab run
