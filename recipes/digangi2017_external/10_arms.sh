#!/usr/bin/env bash
# Trains, translates and scores every arm that the ledger does not hold yet, by priority.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

lab run
