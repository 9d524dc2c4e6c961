#!/usr/bin/env bash
# Runs every test with the race detector, skipping none. Sets itself up: the race detector needs a C compiler, and some tests a
# Redis server, a PostgreSQL server or Node.js, which are installed from Debian's packages where they are missing and may be installed.
set -euo pipefail
cd "$(dirname "$0")"

missing=()
command -v "${CC:-gcc}" >/dev/null || missing+=(gcc libc6-dev)
command -v redis-server >/dev/null || missing+=(redis-server)
{ command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb'; } >/dev/null || missing+=(postgresql)
command -v node >/dev/null || missing+=(nodejs)

install() {
  # Only the programs are wanted: the tests start a server of their own, so the system's one stays down.
  local policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap "rm -f $policy" EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy"
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq && apt-get install -y -qq "$@" >/dev/null
}

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "test.sh: the tests need programs that are not installed; install (by Debian's names): ${missing[*]}" >&2
    exit 1
  fi
  install "${missing[@]}"
fi

# No test is skipped. Heavy simulations hold fewer rounds under the race detector; `make simulate` holds all of them.
export REHEARSE_TEST_COMPLETE=1 CGO_ENABLED=1
# A program with the race detector sleeps for a second before it ends; there are hundreds of them.
export GORACE=atexit_sleep_ms=0
go vet ./... && go vet -C bench ./...
# The detector looks at Go's memory. SQLite, which was translated from C, has its own, so that watching it finds nothing and takes half the time.
# The longest packages go first. Three at once keep two processors busy while one waits for a server.
go test -race -vet=off -gcflags='modernc.org/sqlite/lib=-race=false -d=checkptr=0' -timeout 20m -p "$(($(nproc) + 1))" \
  ./cmd/rehearse ./internal/store ./internal/report ./internal/sitebot ./internal/stats ./internal/replay ./internal/draw ./...
go test -C bench -race -vet=off ./...
