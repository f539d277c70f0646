#!/usr/bin/env bash
# Train and score every model that is not in the ledger, by priority; then fine-tune some with fixed
# embeddings.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lab run
