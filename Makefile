# SPDX-License-Identifier: GPL-3.0-or-later
#
# Needs git, make and Python 3.11 or newer; everything else is installed into .venv. `make` lists the targets.

PYTHON ?= python3
LINK := collections/ansible_collections/muster/train
# As if the virtual environment were active.
export PATH := $(CURDIR)/.venv/bin:$(PATH)

# A stage of the tests ends with one line, which .cache/stages.jsonl keeps (tests/README.md).
STAGE := python tools/stage.py run
# Tests wait for most of their time, so two files run at a time, in the order of collection.
PYTEST := pytest --numprocesses=2 --dist=loadscope --no-loadscope-reorder
STAGES := test-slow test-local test-hosts test-cores test-slurm test-k8s faults simulation workloads mutations mutations-gate sanity importer lint-ansible

.PHONY: help launch unit test test-all screens $(STAGES) stages lint format build cluster cluster-down k8s-lab k8s-lab-down docs changelog clean link dev engine
.DELETE_ON_ERROR:

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 23

launch: .venv/.local link ## train the example on the embedded cluster, two nodes on this machine
	ansible-playbook launch.yml -e channels=42
	@echo 'To run such commands yourself: source .venv/bin/activate'

unit: dev ## the fast unit tests, two minutes
	$(PYTEST) -m unit tests/unit

test: dev ## the gate, before every push: lint, the fast unit tests, at most 40 end-to-end tests; seven minutes
	@# Not $$(MAKE), which would run, and record a pass, with make -n.
	@$(STAGE) lint make --no-print-directory lint
	$(STAGE) gate $(PYTEST) -m 'unit or gate'

test-all: dev ## the gate and every stage, one after the other; hours
	@# A stage that fails does not keep the next from running.
	@failed=''; for stage in test $(STAGES); do $(MAKE) --no-print-directory $$stage || failed="$$failed $$stage"; done; \
	  $(MAKE) --no-print-directory stages; [ -z "$$failed" ] || { echo "muster: stages that failed:$$failed" >&2; exit 1; }

stages: ## show when each stage last passed, and at which commit
	@'$(PYTHON)' tools/stage.py show lint gate $(STAGES)

screens: dev ## write tests/screens anew: what a person reads, to be reviewed in the diff
	MUSTER_WRITE_SCREENS=1 pytest tests/unit/test_screens.py `find tests/unit -name test_messages.py`

test-slow: dev ## stage: unit tests that start many programs or try thousands of inputs
	$(STAGE) $@ $(PYTEST) -m slow --timeout=300

test-local: dev ## stage: end-to-end tests on nodes of this machine
	$(STAGE) $@ $(PYTEST) -m local --timeout=300

test-hosts: dev ## stage: hosts in containers, molecule, releases of Debian; needs a Docker Engine
	$(STAGE) $@ $(PYTEST) -m hosts --timeout=1200

test-cores: dev .cache/python ## stage: the oldest and the newest ansible-core
	PATH="$$PATH:$(CURDIR)/.cache/python/usr/bin" $(STAGE) $@ $(PYTEST) -m cores --timeout=600

test-slurm: dev ## stage: a Slurm cluster of four nodes on this machine; needs root, slurm-wlm and munge
	$(STAGE) $@ pytest -m slurm --timeout=300

test-k8s: dev ## stage: a Kubernetes cluster of two nodes on this machine; needs root and what make k8s-lab builds
	$(STAGE) $@ pytest -m k8s --timeout=600

.cache/python:
	@.ci/newer-python $@

lint: dev ## ruff, mypy, antsibull-changelog, antsibull-docs
	ruff check
	ruff format --check
	mypy
	@# The code that runs on the nodes, with the oldest Python that mypy supports.
	mypy --python-version 3.10 -p ansible_collections.muster.train.plugins.modules \
	  -p ansible_collections.muster.train.plugins.module_utils
	antsibull-changelog lint
	antsibull-docs lint-collection-docs --plugin-docs --disallow-unknown-collection-refs .

lint-ansible: dev ## stage: ansible-lint with its profile `production`
	$(STAGE) $@ ansible-lint --offline --profile production --strict

format: dev ## format the Python code, and fix what ruff can fix
	ruff check --fix --exit-zero
	ruff format

sanity: dev ## stage: ansible-test sanity on a copy of the checkout
	$(STAGE) $@ python tools/sanity.py

importer: .venv/.local .cache/importer/.installed ## stage: import the tarball as Galaxy does; a warning fails
	$(STAGE) $@ .cache/importer/venv/bin/python tools/importer.py

.cache/importer/.installed: requirements-importer.txt
	@echo 'Installing $< into .cache/importer/venv (once; takes a minute)'
	@'$(PYTHON)' -m venv .cache/importer/venv
	@.cache/importer/venv/bin/python -m pip install --progress-bar off --disable-pip-version-check -r $< >.cache/importer/pip.log 2>&1 || { \
	  tail -n 20 .cache/importer/pip.log >&2; echo 'muster: pip could not install $<; see .cache/importer/pip.log' >&2; exit 1; }
	@touch $@

cluster: engine dev ## create three test hosts in containers, with systemd, SSH and a Docker Engine each
	ansible-playbook tests/cluster/create.yml
	@printf '%s\n' 'The hosts n1, n2 and n3 are running. Next (source .venv/bin/activate):' \
	  '  ansible nodes -i .cache/cluster/inventory -m ping' \
	  '  ansible-playbook -i .cache/cluster/inventory playbooks/setup.yml' \
	  '  ansible-playbook -i .cache/cluster/inventory playbooks/preflight.yml' \
	  '  ansible-playbook -i .cache/cluster/inventory launch.yml' \
	  'To remove them: make cluster-down'

# Before anything is installed.
engine:
	@docker info >/dev/null 2>&1 || { \
	  echo 'muster: no Docker Engine answers this user (docker info); the test hosts are containers. Install one (Debian, Ubuntu: apt install docker.io), start it, and let this user use it' >&2; exit 1; }

cluster-down: dev ## remove the hosts of make cluster
	ansible-playbook tests/cluster/destroy.yml

faults: dev ## stage: inject every fault into gangs of runners and measure
	$(STAGE) $@ python tests/faults/suite.py --rounds 10 --injections 100 --kills 50 --races 50 --torch 3 --json .cache/faults.json

simulation: dev ## stage: 20,000 histories of gangs in a simulated world
	$(STAGE) $@ python tests/simulation/suite.py --histories 20000

mutations: dev ## stage: break each role on hosts in containers: its scenario must notice
	$(STAGE) $@ pytest tests/integration/mutations.py --timeout=1200

mutations-gate: dev ## stage: plant defects in the code: the gate must find each
	$(STAGE) $@ pytest tests/mutations/gate/suite.py --timeout=600

workloads: dev .cache/workloads/.installed ## stage: launch programs of Lightning, Hugging Face, DeepSpeed and trackers
	$(STAGE) $@ pytest tests/workloads/suite.py --timeout=600

.cache/workloads/.installed: requirements-workloads.txt
	@echo 'Installing $< into .cache/workloads/venv (once; takes some minutes)'
	@mkdir -p .cache/workloads
	@'$(PYTHON)' -m venv .cache/workloads/venv
	@.cache/workloads/venv/bin/python -m pip install --progress-bar off --disable-pip-version-check -r $< >.cache/workloads/pip.log 2>&1 || { \
	  tail -n 20 .cache/workloads/pip.log >&2; echo 'muster: pip could not install $<; see .cache/workloads/pip.log' >&2; exit 1; }
	@touch $@

# Where its commands are typed.
LAB := PYTHONPATH='$(CURDIR)/collections' '$(CURDIR)/.venv/bin/python' -m ansible_collections.muster.train.tests.support.k8s_lab

k8s-lab: dev ## build (once; seven minutes) and start a Kubernetes cluster of two nodes on this machine; needs root
	.ci/k8s
	@$(LAB) up
	@printf '%s\n' 'A command in it, with its kubeconfig:' "  $(LAB) run kubectl get nodes" 'To remove it: make k8s-lab-down'

k8s-lab-down: dev ## remove the cluster of make k8s-lab
	@$(LAB) down

docs: dev ## build the reference of modules and roles: docs/_build/html/index.html
	@rm -rf docs/_build && mkdir -p docs/_build/rst
	antsibull-docs collection --use-current --squash-hierarchy --dest-dir docs/_build/rst muster.train
	sphinx-build -q -C -D project=muster.train -D html_theme=alabaster -D extensions=sphinx_antsibull_ext \
	  -D suppress_warnings=ref.ref \
	  docs/_build/rst docs/_build/html
	@echo 'docs/_build/html/index.html'

build: .venv/.local ## the collection's tarball, to install with ansible-galaxy
	ansible-galaxy collection build --force

changelog: dev ## write CHANGELOG.rst from changelogs/fragments and the modules
	antsibull-changelog release --reload-plugins --update-existing --refresh

clean: ## remove what make built, except .cache, experiments/ and the embedded nodes' work directories
	rm -rf .venv $(LINK) .cache/sanity docs/_build .mypy_cache .pytest_cache .ruff_cache .ansible

dev: .venv/.dev link ## install what the tests and linters need into .venv

link:
	@if [ -e $(LINK) ] && [ ! -L $(LINK) ]; then \
	  echo 'muster: $(LINK) is an installed copy, not this checkout. Remove it; to install the collection: ansible-galaxy collection install . -p ~/.ansible/collections --force' >&2; exit 1; fi
	@[ -e $(LINK) ] || { mkdir -p $(dir $(LINK)) && ln -sfn ../../.. $(LINK); }

.venv/bin/python:
	@command -v '$(PYTHON)' >/dev/null || { \
	  echo 'muster: $(PYTHON) not found. Install Python 3.11 or newer, or set its path: make PYTHON=/path/to/python3.11' >&2; exit 1; }
	@'$(PYTHON)' -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' || { \
	  echo "muster: $(PYTHON) is $$('$(PYTHON)' -V); expected 3.11 or newer. Set another path: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@'$(PYTHON)' -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo 'muster: $(PYTHON) has no venv module. Install it (Debian, Ubuntu: apt install python3-venv)' >&2; exit 1; }
	@'$(PYTHON)' -m venv .venv

# A stamp file for each list of requirements. It is newer than the list if everything is installed.
.venv/.local: requirements-local.txt requirements.txt | .venv/bin/python
.venv/.dev: requirements-dev.txt .venv/.local | .venv/bin/python
.venv/.local .venv/.dev:
	@echo 'Installing $< into .venv (once; takes some minutes$(if $(findstring local,$<), because PyTorch is large)). Progress: .venv/pip.log'
	@# Ansible reads collections from their sources, so compiling the thousands of files in the package ansible is useless.
	@.venv/bin/python -m pip install $(if $(findstring dev,$<),--no-compile) --progress-bar off --disable-pip-version-check -r $< >.venv/pip.log 2>&1 || { \
	  tail -n 20 .venv/pip.log >&2; echo 'muster: pip could not install $<; see .venv/pip.log' >&2; exit 1; }
	@touch $@
