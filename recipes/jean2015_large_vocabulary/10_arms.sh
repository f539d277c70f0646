#!/usr/bin/env bash
# Trains, translates and scores every model that the ledger does not hold yet, by priority; then tunes
# those that go on with fixed embeddings.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lab run
