# README: `make demo` and `make test` need only Python, git and make. CONTRIBUTING: the rest.

# The first Python that runs at all; tools/bootstrap.py looks for a newer one when this one is too old.
PYTHON ?= $(shell for p in python3 python python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 6))' >/dev/null 2>&1 && echo $$p && break; done)
bootstrap = $(or $(PYTHON),$(error no Python found; install Python 3.11 or newer)) tools/bootstrap.py
in_dev = .venv-dev/bin/python -m
# Two workers, because the machines that this is meant for have two cores; one that is done takes half of what the other
# one has left.
PYTEST_ARGS ?= -n 2 --dist worksteal
# `make test` leaves tests of R, notebooks, Postgres and Spark out unless something they look at changed since this commit:
# by default the last twenty are looked at, so that a change is tested again after it landed.
LANDED ?= HEAD~20
# One number fixes the order of the tests and all that they draw, so that a failure is no chance; nightly draws anew.
SEED ?= 1796086524
# Each worker has a core: libraries that start a thread for every core would wait for each other, busily.
test check-full doctest: export OMP_NUM_THREADS := 1
# The time of the last commit, so that two builds are one.
package provenance: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct)
MAKEFLAGS += --no-print-directory
unexport PYTHONPATH

.PHONY: demo test quick help check check-full nightly r oracle lowest latest pythons lint types contracts dead-code doctest docs gallery man package provenance changelog format lock clean

demo:  ## Make data from the bundled sample, and say what was spent and where the files are.
	@$(bootstrap) run
	@.venv-run/bin/lapwing demo --output out/demo

test:  ## Run the tests.
	@$(bootstrap) test
	@.venv-test/bin/python -m pytest $(PYTEST_ARGS) --randomly-seed=$(SEED) --hypothesis-seed=$(SEED) --since $(LANDED)

quick:  ## Run the tests that changed files reach, for 90 seconds at most.
	@$(bootstrap) test
	@.venv-test/bin/python tools/quick.py $(COMMIT)

help:  ## List these targets.
	@awk -F ':.*  ## ' '/^[a-z][a-z-]*:.*  ## / {printf "make %-20s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: lint types contracts dead-code doctest docs  ## Run everything that CI runs, but the tests.

check-full:  ## Run all tests, the slow statistical suites too.
	@$(bootstrap) test
	@.venv-test/bin/python -m pytest $(PYTEST_ARGS) -m "full or not full"

nightly:  ## Run all that CI runs, and all that it leaves out.
	@.ci/run check-full

r:  ## Check the R package in r/, where R is there.
	@$(bootstrap) test
	@.venv-test/bin/python -m pytest tests/r -rs

oracle:  ## Compare with other libraries, each in an environment of its own.
	@set -e; for name in dp-accounting pot sdmetrics anonymeter mlcroissant sdv sdv1 smartnoise mbi; do \
		$(bootstrap) oracle-$$name; .venv-oracle-$$name/bin/python -m pytest tests/oracle; done

# Where another Python or another version of a library would show first; VERSIONS="tests" for all of them.
VERSIONS ?= tests/unit tests/property tests/engines/test_duckdb_relations.py
PYTHONS ?= 3.11 3.12 3.13 3.14

lowest: PYTHON = python3.11
lowest:  ## Test with the oldest dependencies that are allowed, on Python 3.11.
	@$(bootstrap) lowest
	@# Old libraries use what new ones call deprecated.
	@.venv-lowest/bin/python -m pytest $(PYTEST_ARGS) -W ignore::DeprecationWarning $(VERSIONS)

latest:  ## Test with the newest version of everything, whatever the lock says (needs uv).
	uv venv --quiet --clear .venv-latest
	uv pip install --quiet --python .venv-latest --upgrade --group test --editable .
	.venv-latest/bin/python -m pytest $(PYTEST_ARGS) $(VERSIONS)

pythons: $(addprefix python-,$(PYTHONS))  ## Test with the lock on Python 3.11, 3.12, 3.13 and 3.14 (needs uv).
python-%: FORCE
	uv venv --quiet --clear --python $* .venv-python-$*
	uv pip install --quiet --python .venv-python-$* --require-hashes -r requirements/test.txt
	uv pip install --quiet --python .venv-python-$* --no-deps --editable .
	.venv-python-$*/bin/python -m pytest $(PYTEST_ARGS) $(VERSIONS)

.venv-dev: FORCE
	@$(bootstrap) dev

lint: .venv-dev  ## Look for faults of style and form.
	$(in_dev) ruff check
	$(in_dev) ruff format --check

types: .venv-dev  ## Check the types, twice, and those of the examples in the docs.
	$(in_dev) mypy
	.venv-dev/bin/pyrefly check --summary=none --python-interpreter-path .venv-dev/bin/python
	@PYTHONPATH=tests .venv-dev/bin/python -m helpers.typed_examples

contracts: .venv-dev  ## Check that modules import from earlier layers only.
	.venv-dev/bin/lint-imports --no-cache --no-logo

dead-code: .venv-dev  ## Look for code that nothing uses.
	$(in_dev) vulture

doctest: .venv-dev  ## Run the examples in the code.
	$(in_dev) pytest --doctest-modules src -q

docs: .venv-dev  ## Build the docs into site/, and check every link in them and that nothing is fetched.
	NO_MKDOCS_2_WARNING=1 $(in_dev) mkdocs build --strict --quiet
	@.venv-dev/bin/python tools/check_site.py site

gallery:  ## Run the notebooks of docs/gallery, and write what they show into them.
	@$(bootstrap) test
	@cd tests && ../.venv-test/bin/python -m helpers.notebooks

man: .venv-dev  ## Write the manual page man/lapwing.1 from the commands.
	.venv-dev/bin/python tools/man_page.py

package: .venv-dev  ## Build the wheel and the source archive into dist/, and compare them with git.
	@rm -rf dist/*.whl dist/*.tar.gz dist/.tools
	@$(in_dev) pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
		-r requirements/build.txt --target dist/.tools
	PYTHONPATH=$(CURDIR)/dist/.tools $(in_dev) build --quiet --no-isolation --outdir dist
	@PYTHONPATH=tests .venv-dev/bin/python -m helpers.built_package dist

BUILDER ?= urn:lapwing:builder:unnamed
provenance: package  ## Build again from a clone, compare, and write dist/provenance.intoto.json; BUILDER=URI says who builds.
	@PYTHONPATH=$(CURDIR)/dist/.tools .venv-dev/bin/python tools/provenance.py dist --builder "$(BUILDER)"

changelog:  ## Fold the fragments into CHANGELOG.md: make changelog VERSION=0.2.0.
	@$(or $(PYTHON),python3) tools/changelog.py "$(VERSION)" "$$(date +%Y-%m-%d)"

format: .venv-dev  ## Format the code and mend what ruff can mend.
	$(in_dev) ruff check --fix
	$(in_dev) ruff format

export_lock = uv export --quiet --frozen --no-default-groups --no-emit-project --no-header
lock:  ## Lock the dependencies again (needs uv), and export the lock for pip.
	uv lock
	$(export_lock) -o requirements/run.txt
	$(export_lock) --group test -o requirements/test.txt
	$(export_lock) --group dev -o requirements/dev.txt
	$(export_lock) --only-group build -o requirements/build.txt
	$(export_lock) --only-group pip -o requirements/pip.txt
	$(export_lock) $(addprefix --extra ,connect duckdb evaluate lp names office studio) -o requirements/extras.txt
	uv pip compile --quiet --resolution lowest-direct --python-version 3.11 --all-extras --group test \
		--no-emit-package lapwing --generate-hashes --no-annotate --no-header pyproject.toml -o requirements/lowest.txt
	@$(MAKE) sbom

sbom:  ## Write the bill of materials and the page on dependencies, from the lock.
	@$(bootstrap) run
	@.venv-run/bin/python tools/sbom.py

audit-dependencies:  ## Check the bill of materials, and ask PyPI for known faults of what is locked.
	@$(bootstrap) oracle-pip-audit
	@.venv-oracle-pip-audit/bin/python -m pytest -q tests/oracle/test_sbom_against_cyclonedx.py
	@.venv-oracle-pip-audit/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off \
		-r requirements/run.txt -r requirements/extras.txt

WHEELHOUSE_ARGS ?=
wheelhouse:  ## Collect in dist/wheelhouse what an installation without a network needs.
	@$(bootstrap) run
	@.venv-run/bin/python tools/wheelhouse.py $(WHEELHOUSE_ARGS)

clean:  ## Remove the environments and everything that was built.
	rm -rf .venv-run .venv-test .venv-dev .venv-oracle-* .venv-lowest .venv-latest .venv-python-* site dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

FORCE:
