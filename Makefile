SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The binary and the tests are compiled in one way: what one step built, the next need not build. Only the race detector needs C.
export CGO_ENABLED := 0
# There is memory enough: a compiler that collects less of it takes a sixth less time.
export GOFLAGS := $(GOFLAGS) -trimpath '-toolexec=env GOGC=400'

# What is tested from inside; test/ drives the built binary from outside. archtest, ledger and test/guides have a step of their own.
PACKAGES := ./cmd/... ./db/... ./internal/... ./web/...
# The race detector makes tests five times as long. It sees the rooms that start goroutines or lock something, but for app, whose
# suites walk every endpoint, and ciconfig and apidocs, which lock what they read once. Of artifact, whose large reports it would
# read for minutes, it sees what is about logs, which alone is locked. `make race RACED=./internal/user` shows it another.
INSIDE = $(filter-out stithy/internal/archtest stithy/internal/ledger%,$(shell go list $(PACKAGES)))
SHARING = $(shell grep -lrE --include='*.go' --exclude='*_test.go' '"sync|^\s*go |\.Go\b' cmd db internal web | xargs dirname | sort -u)
RACED = $(filter-out $(addprefix stithy/internal/,app ciconfig apidocs artifact),$(filter $(SHARING:%=stithy/%),$(INSIDE)))
NOT_RACED = $(filter-out $(RACED),$(INSIDE))

# The commit is stamped into the binary where there is one.
STAMP_COMMIT := $(if $(shell git rev-parse HEAD 2>/dev/null),true,false)

# Tools are built once for each release of Go: a linter reads no newer Go than it was built with.
TOOLS := bin/tools/.built-with-$(shell go env GOVERSION)
STORE := bin/tools/versitygw
GLAB := bin/tools/glab
PEBBLE := bin/tools/pebble
RUNNER := bin/runner
LINT := bin/tools/golangci-lint
GOTEST := bin/tools/gotestsum --no-color --format-hide-empty-pkg

# Steps of check, in order.
CHECKS := check-format check-tidy check-generated lint archtest mutate-check test-norace race fuzz-small conformance storm-small e2e pages small threats

# There is memory enough: the linter and the race detector spend their time on collecting it.
SPACIOUS := GOGC=400

REPORT := bin/report

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

dev: build ## Run a server on http://127.0.0.1:8080 with its data in tmp/dev
	@export STITHY_DATABASE_URL=$${STITHY_DATABASE_URL:-postgres://$$(id -un)@127.0.0.1:5432/stithy_dev} \
		STITHY_DATA_DIR=$${STITHY_DATA_DIR:-tmp/dev} STITHY_LOG_FORMAT=$${STITHY_LOG_FORMAT:-text}; \
	createdb --maintenance-db="$${STITHY_DATABASE_URL%/*}/postgres" "$${STITHY_DATABASE_URL##*/}" 2>/dev/null || true; \
	bin/stithy migrate; \
	exec bin/stithy serve

build: ## Build bin/stithy
	go build -ldflags="-s -w" -buildvcs=$(STAMP_COMMIT) -o bin/stithy ./cmd/stithy

test: $(TOOLS) ## Run the tests
	$(GOTEST) --format pkgname -- -timeout 10m $(PACKAGES)

race: $(TOOLS) ## Run the tests of rooms that share memory with the race detector
	@mkdir -p $(REPORT)
	CGO_ENABLED=1 $(SPACIOUS) $(GOTEST) --format pkgname -- -race -vet=off -timeout 20m $(RACED) | tee $(REPORT)/race.txt
	CGO_ENABLED=1 $(SPACIOUS) $(GOTEST) --format pkgname -- -race -vet=off -timeout 20m -run 'Log|Line' ./internal/artifact | tee $(REPORT)/race-logs.txt

test-norace: $(TOOLS) ## Run the tests of the other rooms
	@mkdir -p $(REPORT)
	$(GOTEST) --format pkgname -- -vet=off -timeout 20m $(NOT_RACED) | tee $(REPORT)/test-norace.txt

lint: $(TOOLS) ## Run go vet, as one of them, and the linters
	$(SPACIOUS) $(LINT) run

fmt: $(TOOLS) ## Format the source
	$(LINT) fmt

templates: $(TOOLS) ## Write the Go of the templates of pages
	bin/tools/templ generate -log-level warn -path internal/web
	bin/tools/templ generate -log-level warn -path internal/apidocs
	bin/tools/templ generate -log-level warn -path internal/notification

generate: templates build ## Write what follows from the code: templates, docs/api, docs/audit-events.md, db/schema.sql, docs/operations/configuration.md
	mkdir -p docs/api docs/operations
	bin/stithy openapi --write docs/api
	tools/configuration > docs/operations/configuration.md
	go test ./internal/platform/schema -run '^TestTheSchemaFileIsFresh$$' -count=1 -update
	go test ./internal/audit -run '^TestSU09_EveryAdministrativeOperationLeavesATrace$$' -count=1 -update

assets: ## Fetch the style sheets of web/ anew
	cd web && npm ci --ignore-scripts && npm run assets

e2e: build $(TOOLS) $(STORE) $(GLAB) $(PEBBLE) $(RUNNER) test/e2e/node/node_modules/.package-lock.json ## Drive the built binary with real clients
	@mkdir -p $(REPORT)
	STITHY_BIN=$(CURDIR)/bin/stithy $(GOTEST) --format testname -- -vet=off -count=1 -timeout 25m ./test/e2e/... | tee $(REPORT)/e2e.txt

test/e2e/node/node_modules/.package-lock.json: test/e2e/node/package-lock.json
	cd test/e2e/node && npm ci --ignore-scripts --no-audit --no-fund
	touch $@

# The suite of rules has tests of its own, against a stub.
conformance: build ## Check every rule of the specification on the built binary; AREAS=users,jobs checks some
	@mkdir -p $(REPORT)
	go test -count=1 ./test/conformance
	go build -o bin/conformance ./test/conformance
	tools/with-server sh -c 'exec bin/conformance -base "$$SERVER_URL" -admin-token "$$SERVER_TOKEN" -pending test/conformance/pending.txt \
		-area "$(AREAS)" -json $(REPORT)/conformance.json'

storm: build ## Send hostile requests to the built binary for STORM_MINUTES, 30 by default
	go build -o bin/storm ./test/storm
	tools/with-server bin/storm -minutes $${STORM_MINUTES:-30} $(STORM)

# In small: two minutes of what is always the same.
storm-small:
	STORM_MINUTES=1 STORM='-seed 1 -rest 1' $(MAKE) storm

mutate: ## See that tests notice mistakes; MATCH=internal/token takes those of one room
	go run ./test/mutate -match '$(MATCH)'

# In small: that every mutation still fits the code and compiles.
mutate-check:
	go test -count=1 ./test/mutate
	go run ./test/mutate -check

pages: build test/pages/node_modules/.package-lock.json ## Measure every page with Chromium and axe, and fail on a breach
	@STITHY_PAGES=measure STITHY_BIN=$(CURDIR)/bin/stithy go test -v -count=1 -timeout 20m ./test/pages

screenshots: build test/pages/node_modules/.package-lock.json ## Write pictures of every page to bin/screenshots
	@mkdir -p bin/screenshots
	@STITHY_PAGES=$(CURDIR)/bin/screenshots STITHY_BIN=$(CURDIR)/bin/stithy go test -count=1 -timeout 20m ./test/pages

test/pages/node_modules/.package-lock.json: test/pages/package-lock.json
	cd test/pages && npm ci --ignore-scripts --no-audit --no-fund
	touch $@

fuzz: ## Fuzz every target for a while; FUZZ_LONG, FUZZ_SHORT and FUZZ_BUDGET are seconds
	tools/fuzz

# Fuzzing builds all that a package imports anew: in small, it takes the parsers that import little.
fuzz-small:
	FUZZ_ROOMS='ciconfig|errortracking|gitstore|joblog|kit/markdown|kit/quickaction|platform/secretbox' FUZZ_BUDGET=30 tools/fuzz

threats: ## List which test shows which row of docs/threats.md
	go run ./internal/ledger/threats

bench: build ## Measure against the thinnest honest program; BENCH holds flags, such as -quick
	go run ./test/bench $(BENCH)

load: build ## Measure the lists with LOAD_USERS accounts and LOAD_PROJECTS projects, a million each by default, LOAD_JOBS jobs, 5 million, LOAD_ISSUES issues, 10 million, and LOAD_EVENTS and LOAD_AUDITS events, 50 and 20 million
	STITHY_LOAD_USERS=$${LOAD_USERS:-1000000} STITHY_LOAD_PROJECTS=$${LOAD_PROJECTS:-1000000} STITHY_LOAD_JOBS=$${LOAD_JOBS:-5000000} \
		STITHY_LOAD_ISSUES=$${LOAD_ISSUES:-10000000} STITHY_LOAD_EVENTS=$${LOAD_EVENTS:-50000000} STITHY_LOAD_AUDITS=$${LOAD_AUDITS:-20000000} STITHY_LOAD_EVENT_SECONDS=60 \
		go test ./test/load -run ListsOf -count=1 -timeout 120m -v

runners: build ## Let LOAD_RUNNERS runners wait on one node, 10,000 by default, and claim LOAD_PENDING jobs, 50,000
	STITHY_LOAD_RUNNERS=$${LOAD_RUNNERS:-10000} STITHY_LOAD_PENDING=$${LOAD_PENDING:-50000} \
		go test ./test/load -run ManyRunners -count=1 -timeout 30m -v

chaos: build ## Kill a node amid CHAOS_CREATES creations of accounts, 2,000 by default, CHAOS_PUSHES pushes, 200, and CHAOS_PIPELINES pipelines, 100; kill two nodes CHAOS_KILLS times amid changes of issues, 300; push a gigabyte; store 60 random pipelines in each of CHAOS_STORMS storms, 84
	STITHY_TEST_STORMS=$${CHAOS_STORMS:-84} STITHY_TEST_SHAPES=20 go test -run StoredStatuses -count=1 -timeout 90m ./internal/pipeline
	CGO_ENABLED=1 STITHY_BIN=$(CURDIR)/bin/stithy STITHY_E2E_CREATES=$${CHAOS_CREATES:-2000} STITHY_TEST_PUSHES=$${CHAOS_PUSHES:-200} \
		STITHY_TEST_PUSH_MB=$${CHAOS_PUSH_MB:-1024} STITHY_TEST_PIPELINES=$${CHAOS_PIPELINES:-100} \
		STITHY_TEST_ISSUE_KILLS=$${CHAOS_KILLS:-300} \
		go test -race -run 'TwoNodes|MN02|InFlight|DL14|DL15|LargePush|IssuesAreNumbered' -count=1 -timeout 40m -v ./test/e2e

clones: build ## Clone one repository by CLONES clients at once, 200 by default, beside calls of the API
	STITHY_BIN=$(CURDIR)/bin/stithy STITHY_TEST_CLONES=$${CLONES:-200} go test -run ManyClones -count=1 -timeout 25m -v ./test/e2e

tools: $(TOOLS) $(STORE) $(GLAB) $(PEBBLE) $(RUNNER) ## Build the linter, the test runner, the object store, the certificate authority and a client of tests into bin/tools, the CI runner of tests into bin

$(TOOLS): tools/go.mod tools/go.sum
	GOBIN=$(CURDIR)/bin/tools go -C tools install tool
	touch $@

$(STORE): tools/s3/go.mod tools/s3/go.sum
	GOBIN=$(CURDIR)/bin/tools go -C tools/s3 install tool
	touch $@

$(GLAB): tools/glab/go.mod tools/glab/go.sum
	GOBIN=$(CURDIR)/bin/tools go -C tools/glab install tool
	touch $@

$(PEBBLE): tools/pebble/go.mod tools/pebble/go.sum
	GOBIN=$(CURDIR)/bin/tools go -C tools/pebble install tool
	touch $@

# A module of its own: its requirements are none of the server's.
$(RUNNER): test/runner/go.mod test/runner/go.sum test/runner/main.go $(shell find test/runner/stubs -type f)
	go -C test/runner build -trimpath -buildvcs=false -o $(CURDIR)/$@ .

check: ## Everything that must hold before a merge, in the order that fails fastest
	@rm -rf $(REPORT); mkdir -p $(REPORT)
	@for step in $(CHECKS); do \
		printf '\n== %s\n' $$step; SECONDS=0; \
		$(MAKE) $$step; \
		printf '%-16s %4d s\n' $$step $$SECONDS >> $(REPORT)/times; \
	done
	@printf '\n== done\n'; cat $(REPORT)/times; grep -H '^DONE' $(REPORT)/*.txt

check-format:
	@stray=$$(find . -name node_modules -prune -o -name '*.go' -print | xargs gofmt -l); \
	if [ -n "$$stray" ]; then echo "not formatted, run make fmt:"; echo "$$stray"; exit 1; fi

# Of the modules of tools it is enough that their sums are whole: their tests are not ours.
check-tidy:
	go mod tidy -diff
	go -C tools list -deps tool >/dev/null
	go -C tools/s3 list -deps tool >/dev/null
	go -C tools/glab list -deps tool >/dev/null
	go -C tools/pebble list -deps tool >/dev/null
	go -C test/runner list -deps . >/dev/null

# db/schema.sql has a test of its own among those of platform/schema.
check-generated: build $(TOOLS)
	@for dir in internal/web internal/apidocs internal/notification; do \
		bin/tools/templ generate -log-level warn -check -path $$dir || { echo "stale, run make templates"; exit 1; }; \
	done
	@fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; mkdir "$$fresh/api"; \
	bin/stithy openapi --write "$$fresh/api"; \
	tools/configuration > "$$fresh/configuration.md"; \
	diff -ru docs/api "$$fresh/api" && diff -u docs/operations/configuration.md "$$fresh/configuration.md" || \
		{ echo "stale, run make generate"; exit 1; }

# The long proofs in small: that they work, and that nothing is absurd.
small: build
	go test -count=1 ./test/load
	go run ./test/bench -quick

# Rules of the house, and that the guides to it are still right.
archtest:
	go test -count=1 ./internal/archtest ./internal/ledger ./test/guides

.PHONY: help dev build test race test-norace lint fmt templates generate assets e2e conformance storm storm-small mutate mutate-check pages screenshots fuzz fuzz-small threats bench load runners chaos clones tools check \
	check-format check-tidy check-generated archtest small
