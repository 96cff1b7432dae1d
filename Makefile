# Thin wrappers around CMake, CTest and the scripts under tests/. `make help` lists them.
BUILD ?= build
JOBS ?= $(shell nproc)
ARCH ?= x86-64
CMD ?=
ARGS ?=

.PHONY: help build release static dist dist-test distros interop interop-clients run test unit wire threads e2e transports reload-loss conformance check format lint fuzz faults growth sim mutants soak mixed proxies bench bench-check clean deps test-deps install deb docs

help:  ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

deps:
	@conf/scripts/deps.sh build

test-deps:
	@conf/scripts/deps.sh build test-all

build: deps  ## The binary: build/lineward
	@conf/scripts/configure.sh $(BUILD)
	@cmake --build $(BUILD) -j $(JOBS)

release: deps  ## The binary to install: build/release/lineward, built twice and laid out by what the first did under load
	@JOBS=$(JOBS) conf/scripts/release.sh $(BUILD)/release

static:  ## One binary that needs no library where it runs: build/static/amd64/lineward (ARCH=arm64: for that)
	@conf/scripts/deps.sh build static $(filter arm64,$(ARCH))
	@JOBS=$(JOBS) conf/scripts/static.sh $(ARCH)

dist:  ## What a release consists of, in build/dist
	@conf/scripts/deps.sh build static arm64 dist
	@JOBS=$(JOBS) conf/scripts/dist.sh

dist-test:  ## Uses each artefact of `make dist` once, as its user would (ONLY="static npm"); root, and a network for Debian
	@conf/scripts/deps.sh build test-all static arm64 dist-test
	@JOBS=$(JOBS) tests/packages/run.sh $(ONLY)

distros:  ## The README's commands and the tests in a fresh Debian 12, 13 and sid (ONLY="trixie", STEPS="build run"); root, and a network for Debian
	@conf/scripts/deps.sh distros
	@JOBS=$(JOBS) tests/packages/distros.sh $(ONLY)

interop:  ## The official SDKs of Python, Ruby, Perl and Rust on every road, in Debian sid (ONLY="python"); root, and a network for Debian
	@conf/scripts/deps.sh interop
	@JOBS=$(JOBS) tests/interop/interop.sh $(ONLY)

interop-clients: test-deps  ## Real clients from npm with real servers, each as direct or with its reason (ONLY="mcporter kubernetes"; LINEWARD=, else build/lineward)
	@tests/interop/clients.sh $(ONLY)

run: build  ## Lineward in front of the demo server, or of CMD="npx -y some-server"
	@conf/scripts/run.sh $(BUILD) "$(CMD)" $(ARGS)

test: test-deps  ## Every test (sanitizers on); ends with one line of passed and failed
	@tests/run.sh all

unit:  ## The unit tests alone; T=proxy/exchange or T=proxy/exchange/park_table: of one module or file
	@conf/scripts/deps.sh build test
	@tests/run.sh unit $(T)

wire:  ## The scripted tests against the real binary alone; T=35_stdio_front/long_line, T=30_stdio: one, or one folder
	@conf/scripts/deps.sh build test
	@tests/run.sh wire $(T)

threads: test-deps  ## Unit and wire tests under ThreadSanitizer, and the lines they reach
	@tests/run.sh threads

e2e: test-deps  ## The tests with official SDK clients and servers alone
	@tests/run.sh e2e

transports: test-deps  ## Wire, e2e, conformance, matrix and roads over TLS and HTTP/2 (TRANSPORT="tls h2 h2c")
	@TRANSPORT="$(or $(TRANSPORT),tls h2)" tests/run.sh transports

reload-loss: test-deps  ## 100,000 calls over 50 reloads, and 20 times SIGTERM under load (LINEWARD=, else build/lineward)
	@LINEWARD_RELOAD_CALLS=100000 LINEWARD_RELOADS=50 LINEWARD_TERMS=20 tests/e2e/node.sh --test --test-name-pattern='under load' tests/e2e/cases/reload.test.mjs

conformance: test-deps build  ## The official conformance suite in front of the fixture servers
	@tests/run.sh conformance

format:  ## clang-format over all sources
	@git ls-files '*.cc' '*.h' | xargs clang-format -i

lint: test-deps  ## clang-format, clang-tidy, order of modules, pages, prose
	@tests/lint/lint.sh $(BUILD)

fuzz: test-deps  ## Every fuzz target for 10 minutes (FUZZ_SECONDS)
	@tests/fuzz/run.sh $${FUZZ_SECONDS:-600}

faults: test-deps  ## The fault experiments as a table (QUICK=1, ROWS=1,5-9, SEED=n)
	@tests/faults/run.sh faults

growth: test-deps  ## How work grows with every dimension of every input (ONLY=text); writes build/growth.md
	@tests/growth/run.sh $(if $(ONLY),--only '$(ONLY)',--docs)

sim: test-deps  ## Simulated worlds from fresh seeds on every core (SIM_SECONDS=60)
	@tests/sim/run.sh $(or $(SIM_SECONDS),60)

mutants: test-deps  ## Which suite finds each bug of tests/mutants (ONLY=module or module/name, MUTANT_SECONDS: begins none after)
	@tests/mutants/run.sh $(if $(MUTANT_SECONDS),--seconds $(MUTANT_SECONDS)) $(ONLY)

soak: test-deps  ## A million calls with cancels, restarts and limits (SOAK_CALLS)
	@tests/faults/run.sh soak

mixed: test-deps  ## Both eras, all kinds of servers, aborts, deaths and reloads at once for an hour (MIXED_SECONDS)
	@tests/faults/run.sh mixed

proxies: test-deps  ## The table of docs/proxies.md, measured with Debian's and npm's proxies (ONLY="nginx squid"; LINEWARD=)
	@conf/scripts/deps.sh proxies
	@tests/proxies/run.sh $(ONLY)

bench: test-deps  ## Side by side with other gateways (BENCH_CALLS=1000000); table, JSON and SVG in benchmarks/out
	@benchmarks/run.sh

bench-check:  ## Instructions per call of thirteen paths beside benchmarks/instructions.json; 3 % more fails (ARGS="--only dense")
	@conf/scripts/deps.sh build bench-check
	@JOBS=$(JOBS) benchmarks/check.sh $(ARGS)

docs:  ## The documentation as pages in build/site; its pictures from their texts, its links looked at
	@cd conf/docs && { [ -d node_modules ] || npm ci --no-audit --no-fund --loglevel=error; }
	@node conf/docs/pictures.mjs && node conf/docs/site.mjs $(BUILD)/site

deb:  ## Debian packages (binary, units, pages; and debug symbols) in build/deb/packages
	@conf/scripts/deps.sh build deb
	@JOBS=$(JOBS) conf/scripts/deb.sh $(BUILD)/deb

install: build  ## Into PREFIX (default /usr/local); BUILD=build/release after `make release`
	@cmake --install $(BUILD) --prefix $${PREFIX:-/usr/local}

clean:  ## Removes what was built
	@rm -rf $(BUILD)
