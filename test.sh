#!/usr/bin/env bash
# Runs every test with the race detector, skipping none. Sets itself up: the race detector needs a C compiler, and some tests a
# Redis server, a PostgreSQL server, Node.js, npm or Chromium, which are installed from Debian's packages where they are missing and may be installed.
# The foreign agents of testdata/agents and the rules of e2e come from npm's registry, once for each state of their lock files.
set -euo pipefail
cd "$(dirname "$0")"

missing=()
command -v "${CC:-gcc}" >/dev/null || missing+=(gcc libc6-dev)
command -v redis-server >/dev/null || missing+=(redis-server)
{ command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb'; } >/dev/null || missing+=(postgresql)
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
command -v "${REHEARSE_CHROMIUM:-chromium}" >/dev/null || missing+=(chromium)

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

# Prints the folder with the npm packages that a folder's lock file names. It is kept for the next time, outside of the repository.
npm_packages() {
  local from="$1" home dir new try why
  home="${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/rehearse-test"
  dir="$home/npm-$(cat "$from/package.json" "$from/package-lock.json" | sha256sum | cut -c1-16)"
  if [ ! -d "$dir" ]; then
    { mkdir -p "$home" && new="$(mktemp -d "$home/new-XXXXXX")" && cp "$from/package.json" "$from/package-lock.json" "$new"; } || return 1
    for try in 1 2 3; do
      if npm ci --prefix "$new" --ignore-scripts --no-audit --no-fund --loglevel=error >"$new/npm.log" 2>&1; then
        # Another run may have been faster; its packages are the same.
        mv -T "$new" "$dir" 2>/dev/null || rm -rf "$new"
        break
      elif [ "$try" = 3 ]; then
        why="$(grep -E '^npm (error|ERR!)' "$new/npm.log" | grep -vE '(error|ERR!)( (code|syscall|errno) .*)? *$' | head -n1)" || why="$(tail -n1 "$new/npm.log")"
        echo "test.sh: npm cannot install the packages of $from (can it reach its registry?): $why" >&2
        rm -rf "$new"
        return 1
      fi
      sleep $((try * 5))
    done
  fi
  echo "$dir"
}
REHEARSE_TEST_NPM="$(npm_packages testdata/agents)"
REHEARSE_E2E_NPM="$(npm_packages e2e)"
export REHEARSE_TEST_NPM REHEARSE_E2E_NPM

# No test is skipped. Heavy simulations hold fewer rounds under the race detector; `make simulate` holds all of them.
export REHEARSE_TEST_COMPLETE=1 CGO_ENABLED=1
# A program with the race detector sleeps for a second before it ends; there are hundreds of them.
export GORACE=atexit_sleep_ms=0
# Without the folder in what is compiled, a clone elsewhere takes what the build cache already has.
export GOFLAGS="${GOFLAGS:--trimpath}"
# Every step runs, so that one run shows every failure.
status=0
{ go vet ./... && go vet -C bench ./... && go vet -C e2e ./...; } || status=1
# Watching SQLite, which was translated from C, finds nothing and takes half the time.
# The longest packages go first. Three at once, each with four tests at once, keep two processors busy while some wait for a server.
packages() { go list ./... | grep -vE '/(release|cmd/rehearse)$'; }
first() { packages | grep -E '/(store|stats|replay|coordinator|service|report|pages|view|suite|evaluation)$'; }
go test -race -vet=off -gcflags='modernc.org/sqlite/lib=-race=false -d=checkptr=0' -timeout 80m \
  -p "$(($(nproc) + 1))" -parallel "$((2 * $(nproc)))" $(first) $(packages) || status=1
# The scripts start the whole program some thousand times, which takes four times as long with the race detector: its
# packages were watched above, and `make race` watches the scripts.
go test -vet=off -timeout 80m -parallel "$((3 * $(nproc)))" ./cmd/rehearse || status=1
# All of the random attempts to cheat the gate, of which the race detector sees a few.
go test -vet=off -run '^TestRandomCheats$' ./internal/app/evaluation || status=1
# What packs releases has one goroutine, and packing takes five times as long when its memory is watched.
go test -vet=off ./release || status=1
go test -C bench -race -vet=off ./... || status=1
# The browser tests drive a program of their own, so that watching their own memory finds nothing.
go test -C e2e -vet=off -timeout 80m ./... || status=1
exit "$status"
