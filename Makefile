# Every habit of the project in one place; `make` alone lists them.
# Needs python3 (3.11 or later) and make; everything else is fetched into .venv.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup run dev ui fmt lint types imports check test test-pg test-live e2e migrate bench eval fuzz chaos lock clean

BIN := .venv/bin
HOST ?= 127.0.0.1
PORT ?= 8283
WORKERS ?= 4
# Snapshots are compared here and never rewritten; run pytest itself to do that.
PYTEST = $(BIN)/pytest -n $(WORKERS) --dist loadgroup --inline-snapshot=disable
# Extra arguments for pytest, e.g. `make test ARGS="-k lease"`.
ARGS ?=

# Shell prelude that leaves a usable uv in $uv: the one on PATH, or a private one. uv reads neither pip's
# configuration nor, unasked, the system's certificates; where those exist it is told of them, so that
# what works for pip works for uv, behind a company's mirror or proxy too.
define with_uv
set -eu; \
if command -v uv >/dev/null 2>&1; then uv=uv; \
else \
  uv=.uv/bin/uv; \
  if ! $$uv --version >/dev/null 2>&1; then \
    echo "Fetching uv into .uv"; \
    python3 -m venv --clear .uv || { echo "python3 needs its venv module (Debian: apt-get install python3-venv)" >&2; exit 1; }; \
    .uv/bin/python -m pip install --quiet --disable-pip-version-check --no-input uv; \
  fi; \
fi; \
if [ -z "$${UV_DEFAULT_INDEX:-}$${UV_INDEX_URL:-}" ]; then \
  index="$${PIP_INDEX_URL:-$$(python3 -m pip config get global.index-url 2>/dev/null || true)}"; \
  if [ -n "$$index" ]; then export UV_DEFAULT_INDEX="$$index"; fi; \
fi; \
for bundle in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do \
  if [ -s $$bundle ]; then export UV_SYSTEM_CERTS="$${UV_SYSTEM_CERTS:-true}"; fi; \
done; \
if [ -z "$${SSL_CERT_FILE:-}" ]; then \
  certs="$${PIP_CERT:-$$(python3 -m pip config get global.cert 2>/dev/null || true)}"; \
  if [ -n "$$certs" ]; then export SSL_CERT_FILE="$$certs"; fi; \
fi
endef

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  \033[1m%-9s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The stamp names what was installed and where; when it still holds, there is nothing to do.
setup: ## Install everything, locked, into .venv (quick when nothing changed)
	@key="$$(pwd) $$(cat requirements.lock pyproject.toml | cksum)"; \
	if [ "$$(cat .venv/.stamp 2>/dev/null)" = "$$key" ]; then exit 0; fi; \
	$(with_uv); \
	case "$$(cat .venv/.stamp 2>/dev/null)" in "$$(pwd) "*) ;; *) $$uv venv --quiet --clear .venv ;; esac; \
	echo "Installing into .venv"; \
	export VIRTUAL_ENV=.venv; \
	$$uv pip sync --quiet --require-hashes --compile-bytecode requirements.lock; \
	$$uv pip install --quiet --no-deps --no-build-isolation --editable .; \
	$(BIN)/python -c 'import ctypes; ctypes.CDLL("libgomp.so.1")' 2>/dev/null || $(MAKE) --no-print-directory -s libgomp; \
	echo "$$key" > .venv/.stamp

# The engine of the embedded model links against the system's OpenMP runtime. Without it the server
# works all the same, with any other model, so its absence is told and not fatal.
.PHONY: libgomp
libgomp:
	@if [ "$$(uname -s)" != Linux ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	  echo "Installing libgomp1, which the embedded model needs"; \
	  { apt-get install -y -qq libgomp1 || { apt-get update -qq && apt-get install -y -qq libgomp1; }; } </dev/null >/dev/null 2>&1 && exit 0; \
	fi; \
	echo "Note: libgomp.so.1 is missing, so the embedded model cannot load. Install it with your package"; \
	echo "      manager (Debian and Ubuntu: sudo apt-get install libgomp1). Everything else works."

run: setup ui ## Serve on 127.0.0.1:8283 (HOST=… PORT=… to change)
	@exec $(BIN)/remanence server --host $(HOST) --port $(PORT)

dev: setup ui ## The same, restarting when the source changes
	@exec $(BIN)/remanence server --host $(HOST) --port $(PORT) --reload

ui: ## Build the web interface, if it changed and node is there
	@sh ui/build.sh

fmt: setup ## Format the code and mend what can be mended
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

lint: setup ## Formatting and lint, without changing anything
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: setup ## Check types, strictly
	@$(BIN)/basedpyright

imports: setup ## Check that rooms import downwards only
	@$(BIN)/lint-imports

check: lint types imports test ## All that CI runs

# The tests of the web interface want a browser; where it cannot be had they say so and the rest runs.
.PHONY: browser
browser:
	@command -v chromium >/dev/null 2>&1 && exit 0; \
	command -v node >/dev/null 2>&1 || exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	  echo "Installing Chromium for the tests of the web interface"; \
	  { apt-get install -y -qq --no-install-recommends chromium || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; }; } </dev/null >/dev/null 2>&1 && exit 0; \
	fi; \
	echo "Note: chromium is not installed, so the web interface is not tried (Debian: sudo apt-get install chromium)."

test: setup ui browser ## The whole suite, on SQLite and PostgreSQL
	@$(PYTEST) $(ARGS)

test-pg: setup ## The tests that use PostgreSQL
	@$(PYTEST) -m postgres $(ARGS)

e2e: setup ## What a client sees: the whole app behind HTTP and the public SDK
	@$(PYTEST) tests/e2e $(ARGS)

test-live: setup ## A real llama.cpp server with real weights, driven end to end (GGUF=… for another file)
	@REMANENCE_TEST_GGUF="$${GGUF:-$$HOME/.remanence/models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf}" \
	  $(BIN)/pytest -n 0 tests/e2e/test_real_server.py $(ARGS)

migrate: setup ## Bring the configured database to the current revision
	@$(BIN)/remanence migrate

bench: setup ## Measure speed and size (ARGS="--help" for choices)
	@$(BIN)/python -m bench $(ARGS)

eval: setup ## Measure how well search finds (ARGS="--help" for choices)
	@$(BIN)/python evals/search.py $(ARGS)

fuzz: setup ## Try what fits the API's description for half an hour or so (EXAMPLES=… for each route)
	@REMANENCE_FUZZ=$${EXAMPLES:-40} $(BIN)/pytest -n $(WORKERS) --timeout 0 tests/e2e/test_fuzz.py $(ARGS)

chaos: setup ## Kill servers at bad moments and look for what was lost
	@$(BIN)/python -m bench.chaos $(ARGS)

# Exact versions with their digests for every platform, and no registry's host in the file.
lock: ## Resolve the dependencies anew (UPGRADE=1 for newer versions)
	@$(with_uv); \
	$$uv pip compile --universal --generate-hashes --all-extras --group dev --no-header \
	  --python-version 3.11 $(if $(UPGRADE),--upgrade) --quiet --output-file requirements.lock pyproject.toml; \
	if grep -nE '://|^llama-cpp' requirements.lock; then \
	  echo "requirements.lock must name no host and nothing that needs a compiler; is uv too old?" >&2; exit 1; \
	fi

clean: ## Remove caches and environments; your data stays
	@rm -rf .venv .uv build dist ui/node_modules src/remanence/edge/static .pytest_cache .ruff_cache .import_linter_cache
	@find . -name __pycache__ -type d -not -path './ui/node_modules/*' -prune -exec rm -rf {} +
