#!/bin/bash
# Sets the path of the module everywhere: in go.mod, in what imports it, and where tests and linters name it. PATH of `make module PATH=…` is the
# module's, so that nothing is looked for but in the system's folders.
PATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin
set -euo pipefail
cd "$(dirname "$0")/.."
new="$1"
old="$(sed -n 's/^module //p' go.mod)"
if ! printf '%s\n' "$new" | grep -Eq '^[a-z0-9.-]+(/[A-Za-z0-9._~-]+)*$' || [ "$(printf '%s\n' "$new" | wc -l)" -ne 1 ]; then
  echo "module: which path? make module PATH=github.com/you/rehearse" >&2
  exit 2
fi
from="${old//./\\.}"
# edit EXPRESSION FILE… changes files in place, with any sed.
edit() {
  local expression="$1" name
  shift
  for name; do
    sed -E "$expression" "$name" > "$name.new"
    if cmp -s "$name" "$name.new"; then rm "$name.new"; else cat "$name.new" > "$name" && rm "$name.new"; fi
  done
}
while IFS= read -r -d '' name; do
  edit "s#\"$from/(internal|graph|cmd|bench|examples|e2e)([/\"])#\"$new/\\1\\2#g" "$name"
done < <(find . -name '*.go' -not -path './.git/*' -not -path '*/node_modules/*' -print0)
edit "s#^module $from\$#module $new#" go.mod
edit "s#^module $from/bench\$#module $new/bench#; s#^(require|replace) $from #\\1 $new #; s#^([[:space:]]+)$from (v0|=>)#\\1$new \\2#" bench/go.mod
edit "s#^module $from/e2e\$#module $new/e2e#" e2e/go.mod
edit "s#^const module = \"$from/\"#const module = \"$new/\"#" arch_test.go
edit "s#^( +module-path:) $from\$#\\1 $new#" .golangci.yml
echo "the module is $new"
