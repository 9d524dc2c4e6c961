#!/usr/bin/env bash
# Runs every test with the race detector. Sets itself up: the race detector needs a C compiler, which is installed from Debian's
# packages where it is missing and may be installed.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v "${CC:-gcc}" >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && apt-get install -y -qq gcc libc6-dev >/dev/null
  else
    echo "test.sh: the race detector needs a C compiler: install gcc" >&2
    exit 1
  fi
fi

go vet ./...
CGO_ENABLED=1 go test -race -timeout 20m ./...
