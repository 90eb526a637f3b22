# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Needs git, make and Python 3.11 or newer; everything else goes into .venv. `make` lists what there is to do.

PYTHON ?= python3
LINK := collections/ansible_collections/muster/train
# As if the venv were active.
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: help launch test lint sanity molecule cluster cluster-down faults docs changelog clean link dev
.DELETE_ON_ERROR:

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 21

launch: .venv/.local link ## train the example on the embedded cluster: two nodes on this machine
	ansible-playbook launch.yml -e channels=42
	@echo 'To type such commands yourself: source .venv/bin/activate'

test: dev ## all tests: unit, integration, molecule
	@# A test waits for much of its time: two files at a time, in the order in which they are collected.
	pytest --numprocesses=2 --dist=loadscope --no-loadscope-reorder

lint: dev ## ruff, mypy, ansible-lint, antsibull-changelog, antsibull-docs
	ruff check
	ruff format --check
	mypy
	@# What runs on the nodes, as for the oldest Python that mypy knows.
	mypy --python-version 3.10 -p ansible_collections.muster.train.plugins.modules \
	  -p ansible_collections.muster.train.plugins.module_utils
	ansible-lint --offline --profile production --strict
	antsibull-changelog lint
	antsibull-docs lint-collection-docs --plugin-docs --disallow-unknown-collection-refs .

sanity: dev ## ansible-test sanity on a copy of the checkout
	python tools/sanity.py

molecule: dev ## the molecule scenarios alone; those on real hosts where a Docker Engine answers
	MOLECULE_GLOB='molecule/*/molecule.yml' molecule test --all
	@if docker info >/dev/null 2>&1; then \
	  MOLECULE_GLOB='molecule/hosts/*/molecule.yml' molecule -c .config/molecule/config.yml -c .config/molecule/hosts.yml test --all; \
	else echo 'muster: no Docker Engine answers: the scenarios of molecule/hosts are left out'; fi

cluster: dev ## three real hosts in containers, to play with: systemd, SSH, a Docker Engine each
	ansible-playbook tests/cluster/create.yml
	@printf '%s\n' 'The hosts n1, n2 and n3 are up. Next (source .venv/bin/activate):' \
	  '  ansible nodes -i .cache/cluster/inventory -m ping' \
	  '  ansible-playbook -i .cache/cluster/inventory playbooks/setup.yml' \
	  '  ansible-playbook -i .cache/cluster/inventory playbooks/preflight.yml' \
	  '  ansible-playbook -i .cache/cluster/inventory launch.yml' \
	  'and make cluster-down removes them.'

cluster-down: dev ## remove the hosts that make cluster made
	ansible-playbook tests/cluster/destroy.yml

faults: dev ## break gangs of runners in every way, again and again, and measure; half an hour
	python tests/faults/suite.py --json .cache/faults.json

docs: dev ## the reference of the modules and roles: docs/_build/html/index.html
	@rm -rf docs/_build && mkdir -p docs/_build/rst
	antsibull-docs collection --use-current --squash-hierarchy --dest-dir docs/_build/rst muster.train
	sphinx-build -q -C -D project=muster.train -D html_theme=alabaster -D extensions=sphinx_antsibull_ext \
	  -D suppress_warnings=ref.ref \
	  docs/_build/rst docs/_build/html
	@echo 'docs/_build/html/index.html'

changelog: dev ## write CHANGELOG.rst from changelogs/fragments and the modules
	antsibull-changelog release --reload-plugins --update-existing --refresh

clean: ## remove what make made; experiments/ and the embedded nodes' work directories stay
	rm -rf .venv $(LINK) .cache/sanity docs/_build .mypy_cache .pytest_cache .ruff_cache .ansible

dev: .venv/.dev link

link:
	@if [ -e $(LINK) ] && [ ! -L $(LINK) ]; then \
	  echo 'muster: $(LINK) is an installed copy, not this checkout: remove it (to install for yourself: ansible-galaxy collection install . -p ~/.ansible/collections --force)' >&2; exit 1; fi
	@[ -e $(LINK) ] || { mkdir -p $(dir $(LINK)) && ln -sfn ../../.. $(LINK); }

.venv/bin/python:
	@command -v '$(PYTHON)' >/dev/null || { \
	  echo 'muster: $(PYTHON) not found: install Python 3.11 or newer, or say where it is: make PYTHON=/path/to/python3.11' >&2; exit 1; }
	@'$(PYTHON)' -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' || { \
	  echo "muster: $(PYTHON) is $$('$(PYTHON)' -V), 3.11 or newer is needed: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@'$(PYTHON)' -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo 'muster: $(PYTHON) has no venv module: install it (Debian, Ubuntu: apt install python3-venv)' >&2; exit 1; }
	@'$(PYTHON)' -m venv .venv

# A stamp for each list of requirements: newer than the list, so nothing is left to install.
.venv/.local: requirements-local.txt requirements.txt | .venv/bin/python
.venv/.dev: requirements-dev.txt .venv/.local | .venv/bin/python
.venv/.local .venv/.dev:
	@echo 'Installing $< into .venv (once, some minutes$(if $(findstring local,$<),: PyTorch is large)); .venv/pip.log says how far it is'
	@# Ansible reads collections from their sources: to compile the thousands of the package ansible takes a minute for nothing.
	@.venv/bin/python -m pip install $(if $(findstring dev,$<),--no-compile) --progress-bar off --disable-pip-version-check -r $< >.venv/pip.log 2>&1 || { \
	  tail -n 20 .venv/pip.log >&2; echo 'muster: pip could not install $<; all it said is in .venv/pip.log' >&2; exit 1; }
	@touch $@
