# Everything runs from a fresh clone with Python 3.11 or newer: `make demo`, `make test`. `make help` lists the rest.
.DEFAULT_GOAL := help
.PHONY: help install demo test test-quick test-all check audit format openapi docs bench dist release rebuild clean

BIN := .venv/bin
STAMP := .venv/.installed
# One thread a process: the tests and the server run several processes, and two cores are enough for them.
export OPENBLAS_NUM_THREADS ?= 1
# Tests start hundreds of processes, each of which would compile the packages anew.
unexport PYTHONDONTWRITEBYTECODE
# Each builds one wheel; those of the left are imported by those of the right.
DISTRIBUTIONS := shared client shuffler analysis migrations server
# Options for the command behind a target: make demo ARGS="--users 5000 --workload histogram"
ARGS ?=
# Worker processes of the tests, one more than cores: many wait for a disk, a lease or a server that ends, and each
# takes ten seconds of a processor to import everything.
WORKERS ?= 3
# Without servers, searches for plans and files that take more than a few seconds.
LONGER := $(addprefix architecture/,test_audit.py test_budget.py test_constants.py test_public_types.py) \
	$(addprefix client/,test_caps_hold.py test_clean_install.py test_damage.py test_output_law.py \
	test_verification_memory.py test_wrong_calls.py) $(addprefix docs/,test_certificates_page.py test_examples.py \
	test_large_domains_example.py test_notebooks.py) shared/protocol/test_codec.py \
	$(addprefix analysis/estimation/,test_answers_on_demand.py test_band.py test_blanketed.py test_blanketed_error.py \
	test_concepts.py test_consistency.py test_few_attributes.py test_groups.py test_normality.py \
	test_ordered_concepts.py test_rules_of_few_reports.py) \
	$(addprefix analysis/evaluation/,test_accumulator_moments.py test_blanket_moments.py test_every_randomizer.py \
	test_weighted_decoder.py grids/test_contributions.py)
QUICK := $(addprefix tests/,shared client docs architecture analysis/charts analysis/estimation analysis/evaluation \
	analysis/questions) $(LONGER:%=--ignore=tests/%)
# The page of `sordino demo --browser`, for the server's wheel and for a checkout: node of the developers' packages.
PAGE := server/sordino_server/demo/page/index.html
# With what `npm ci` has put beside the TypeScript SDK.
TSC = $(BIN)/python -m tests.node client/typescript/node_modules/typescript/bin/tsc --noEmit --project client/typescript
# A file's tests have their fixtures and plans in common, and the file that takes longest comes first
# (tests/longest_first.py).
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(STAMP) ## Create .venv with everything a developer needs (PYTHON=... chooses the interpreter)

$(STAMP): requirements/dev.txt requirements/constraints.txt $(wildcard */pyproject.toml)
	@python=$$(for name in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
		"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; \
	done); \
	if [ -z "$$python" ]; then \
		echo "sordino needs Python 3.11 or newer and found none on PATH: install one, or say make PYTHON=/path/to/python" >&2; \
		exit 1; \
	fi; \
	"$$python" -m venv .venv || { echo "the venv module is missing: on Debian, apt-get install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	@touch $@

demo: $(STAMP) $(PAGE) ## A whole campaign on this machine: real server, 50,000 simulated devices, real flights
	$(BIN)/sordino demo $(ARGS)

$(PAGE): $(STAMP) $(wildcard examples/browser/*) $(shell find client/typescript/src client/typescript/scripts -name '*.ts')
	@$(BIN)/python -m release page

test: $(STAMP) ## The test suite
	$(PYTEST) $(ARGS)

# Nothing in it waits, and every worker imports the tests anew.
test-quick: WORKERS = 2
test-quick: $(STAMP) ## The tests of a minute: devices and mathematics, without servers and long searches
	$(PYTEST) $(QUICK) $(ARGS)

test-all: $(STAMP) ## The test suite with the long statistical and fault runs
	$(PYTEST) -m "slow or not slow" $(ARGS)

check: $(STAMP) ## Lint, format, types and import rules: the gate before every commit
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@if [ -d client/typescript/node_modules ]; then $(TSC) && $(TSC)/tsconfig.build.json; else echo "TypeScript unchecked: npm ci in client/typescript"; fi

audit: $(STAMP) ## Known vulnerabilities of the pinned versions; says so where the advisories cannot be reached
	@PIP_AUDIT_LOGLEVEL=error $(BIN)/python .ci/audit.py $(BIN)/pip-audit --requirement requirements/constraints.txt \
		--no-deps --disable-pip --progress-spinner off --timeout 5

format: $(STAMP) ## Rewrite the code as `make check` wants it
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

openapi: $(STAMP) ## Write docs/openapi.json anew, after a change of the API
	$(BIN)/python -m sordino_server.serving.openapi > docs/openapi.json

docs: $(STAMP) .venv/.docs ## The documentation as a site in build/docs/html, which works from a disk; fails for a broken link
	$(BIN)/python -m docs.site build

.venv/.docs: requirements/docs.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/docs.txt
	@touch $@

bench: $(STAMP) ## The benchmarks, one process after the other
	for folder in benchmarks/*/; do \
		if [ -f "$$folder/__main__.py" ]; then $(BIN)/python -m "benchmarks.$$(basename "$$folder")" || exit 1; fi; \
	done

dist: $(STAMP) $(PAGE) ## Build the wheels of the distributions into dist/
	for name in $(DISTRIBUTIONS); do $(BIN)/python -m build --wheel --no-isolation --outdir dist $$name || exit 1; done
	@echo "install with: pip install --find-links dist dist/sordino_server-*.whl    (or _client-, _analysis-)"

release: $(STAMP) ## Artefacts, SBOMs and SHA256SUMS in dist/release, without publishing
	$(BIN)/python -m release build --folder dist/release

# make rebuild SUMS=SHA256SUMS of a release
SUMS ?= dist/release/SHA256SUMS
rebuild: $(STAMP) ## Build twice, in other folders with another umask, and compare with SUMS
	$(BIN)/python -m release rebuild $(SUMS)

clean: ## Remove .venv and caches
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache
