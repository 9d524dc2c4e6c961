# The targets of everyday work. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
GOLANGCI_VERSION := v2.15.0
VALE_VERSION := v3.21.0

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/rehearse
	go build -trimpath -ldflags="-s -w" -o bin/rehearse ./cmd/rehearse

# One compiler, so that the same commit gives the same bytes on any machine.
RELEASE_GO := go1.26.8

.PHONY: release
release: ## make the archives of a version in dist/, with checksums and the list of modules: make release VERSION=1.2.3
	GOTOOLCHAIN=$(RELEASE_GO) go run ./release -version "$(VERSION)"

.PHONY: release-check
release-check: ## unpack this machine's archive of dist/, and run its version and the quickstart
	GOTOOLCHAIN=$(RELEASE_GO) go run ./release -check

.PHONY: test
test: ## run every test with the race detector; installs what it lacks (a C compiler, Redis, PostgreSQL, Node.js, Chromium, npm packages) where it may
	./test.sh

.PHONY: short
short: ## run every test without the race detector
	go test ./...

.PHONY: race
race: ## run the scripts of the whole program with the race detector
	REHEARSE_TEST_COMPLETE=1 GORACE=atexit_sleep_ms=0 go test -race -vet=off -timeout 80m ./cmd/rehearse

.PHONY: simulate
simulate: ## hold every round of the heavy simulations, which the race detector has fewer of
	REHEARSE_TEST_COMPLETE=1 go test -count=1 ./internal/agent/draw ./internal/app/evaluation ./internal/eval/grader ./graph ./internal/agent/knowledge ./internal/report ./internal/agent/sitebot ./internal/base/stats ./internal/run/store

.PHONY: chaos
chaos: ## disturb runs at 20 random moments in each way: kills, cut and slow networks, a full disk; SEED=n repeats the moments of an earlier time
	REHEARSE_CHAOS_ROUNDS=20 REHEARSE_CHAOS_SEED=$(SEED) go test -count=1 -v -timeout 2h -run '^TestChaos$$' ./cmd/rehearse

.PHONY: browser
browser: ## open every page in Chromium, with the rules of axe: needs chromium, and npm once
	cd e2e && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && go test -count=1 ./...

.PHONY: pictures
pictures: ## make the pictures of the README from the pages of the demonstration
	cd e2e && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && REHEARSE_PICTURES=$(CURDIR)/docs/images go test -count=1 -run '^TestPictures$$' .

.PHONY: lint
lint: ## check style and common mistakes
	go vet ./...
	go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION) run ./...
	go run github.com/vale-cli/vale/v3/cmd/vale@$(VALE_VERSION) --no-global --output line README.md docs

.PHONY: fmt
fmt: ## format the code
	go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION) fmt ./...

.PHONY: generate
generate: build ## write what is generated: docs/graders.md, docs/reference, docs/sitebot-graph.svg
	bin/rehearse graders --format markdown > docs/graders.md
	UPDATE_GOLDEN=1 go test -run Reference ./cmd/rehearse ./internal/eval/target ./internal/run/metrics ./internal/web/api
	bin/rehearse chat graph --format svg > docs/sitebot-graph.svg

.PHONY: verify
verify: build ## check that what is generated is current
	bin/rehearse graders --format markdown | diff -u docs/graders.md -
	bin/rehearse chat graph --format svg | diff -u docs/sitebot-graph.svg -

.PHONY: fuzz
fuzz: ## fuzz what reads files, requests and replies, a minute each
	go test -run '^$$' -fuzz FuzzLoad -fuzztime 1m ./internal/spec/suite
	go test -run '^$$' -fuzz FuzzLoad -fuzztime 1m ./internal/agent/sitebot/site
	go test -run '^$$' -fuzz FuzzLoad -fuzztime 1m ./internal/data/dataset
	go test -run '^$$' -fuzz FuzzPlainJSON -fuzztime 1m ./internal/run/store
	go test -run '^$$' -fuzz FuzzLoggedEvents -fuzztime 1m ./internal/web/api
	go test -run '^$$' -fuzz FuzzSeeding -fuzztime 1m ./internal/data/dataset
	go test -run '^$$' -fuzz FuzzRead -fuzztime 1m ./internal/data/importer/datasetimport
	go test -run '^$$' -fuzz FuzzFactsReply -fuzztime 1m ./internal/agent/flow
	go test -run '^$$' -fuzz FuzzBrief -fuzztime 1m ./internal/run/runindex
	go test -run '^$$' -fuzz FuzzV1 -fuzztime 1m ./internal/spec/suite
	go test -run '^$$' -fuzz FuzzParse -fuzztime 1m ./internal/eval/judge
	go test -run '^$$' -fuzz FuzzParameters -fuzztime 1m ./internal/eval/grader
	go test -run '^$$' -fuzz FuzzLoadScript -fuzztime 1m ./internal/model/llm

.PHONY: cover
cover: ## show the test coverage by package
	go test -coverprofile coverage.out -coverpkg ./internal/...,./graph/...,./cmd/... ./... && go tool cover -func coverage.out | tail -1

.PHONY: mutate
mutate: ## list the wrong changes that no test sees; MUTATE='-packages internal/eval/runner -max 30' tries fewer
	ulimit -v 16777216; nice go run ./mutate $(MUTATE) # a mutant may ask for memory without end

.PHONY: bench
bench: build ## measure speed and memory against the goals
	go test -run '^$$' -bench . -benchmem ./internal/... ./graph/...
	go build -C bench -o ../bin/bench . && bin/bench -rehearse bin/rehearse

.PHONY: bench-peers
bench-peers: build ## the same work with AgentV and promptfoo, installed from npm into a temporary folder
	go build -C bench -o ../bin/bench . && bin/bench -rehearse bin/rehearse -peers

# The commit that speed, memory and size are compared with.
BASE = $(shell cat bench/BASE)
PAIRS = 5

.PHONY: bench-against
bench-against: ## compare CPU, memory and wall time with a base commit: make bench-against [BASE=COMMIT] [PAIRS=N]
	go build -C bench -o ../bin/bench . && bin/bench -against "$(BASE)" -pairs "$(PAIRS)"

.PHONY: size
size: ## count tokens by group, files, imports and long lines, next to a base commit: make size [BASE=COMMIT]
	go run -C bench ./size -root "$(CURDIR)" -base "$(BASE)"

.PHONY: bench-langgraph
bench-langgraph: ## the graph runtime beside LangGraph.js, installed from npm into a temporary folder
	go run -C bench ./langgraph
