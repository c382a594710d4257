# stablechoice: every number an artifact. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Which study: a file of conf/study.
STUDY ?= pocket
# A Python 3.11 that makes the virtual environment.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# cpu, cuda, or auto: the build of torch that pip would choose by itself.
TORCH ?= auto

# What a bundle holds on top, which one is verified, and where stored answers come from (see `make help`).
IMAGES ?=
MODELS ?=
TEXTS ?=
BUNDLE ?=
SHA256 ?=
LIMIT ?=
PULL ?=
DVC_REMOTE ?=

# Into how many shards a study is split, what runs them (a file of conf/hydra/launcher), and a folder with torch's wheel.
SHARDS ?=
LAUNCHER ?= local
WHEELS ?=

# A rehearsal with one model's figures wrong (1, or the model), and one that forgets what an earlier one answered.
WRONG ?=
FRESH ?=

# Where it runs: native, cpu or cuda (a container), or auto: a container if an engine answers.
RUNTIME ?= native

VENV := .venv
STAMP := $(VENV)/.installed
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export PYTHONHASHSEED ?= 0
export RUNTIME
export HF_HUB_DISABLE_TELEMETRY := 1
export DVC_NO_ANALYTICS := 1
RUN := stablechoice

.PHONY: help install reproduce prepare sample models answer launch merge apptainer generate score analyse report compare pipeline bundle verify rehearse kick-the-tires doctor test test-quick lint bench clean

help: ## list every target
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'
	@echo
	@echo "  STUDY=$(STUDY) picks a file of conf/study; TORCH=cpu|cuda|auto picks the build of torch;"
	@echo "  RUNTIME=native|cpu|cuda|auto picks where it runs;"
	@echo "  PULL=1 fetches stored answers before reproducing (DVC_REMOTE=a remote's name, a folder or a bundle);"
	@echo "  IMAGES=1, MODELS=1, TEXTS=1 put images, the pocket model, question texts into a bundle."

install: $(STAMP) ## .venv from the hash-locked requirements

$(STAMP): requirements/cpu.lock requirements/cuda.lock requirements/models.lock pyproject.toml requirements/install.sh
	@bash requirements/install.sh "$(PYTHON)" "$(VENV)" "$(TORCH)"
	@touch $(STAMP)

reproduce: $(STAMP) ## the whole study: prepare, sample, answer, generate, score, analyse, report
	@if [ "$(PULL)" = 1 ]; then $(RUN) pull study=$(STUDY) remote="$(DVC_REMOTE)"; fi
	@$(RUN) reproduce study=$(STUDY)

prepare: $(STAMP) ## the study's questions, pinned and checked
	@$(RUN) reproduce study=$(STUDY) until=prepare

sample: $(STAMP) ## the ids that the study asks
	@$(RUN) reproduce study=$(STUDY) until=sample

models: $(STAMP) ## fetch, convert and check the study's models beforehand
	@$(RUN) models study=$(STUDY)

answer: $(STAMP) ## answer what is missing, one process and one model load
	@$(RUN) reproduce study=$(STUDY) until=answer

launch: $(STAMP) ## SHARDS=N [LAUNCHER=slurm]: answer in N shards, a job array or processes (docs/cluster.md)
	@$(RUN) launch study=$(STUDY) shards="$(SHARDS)" hydra/launcher=$(LAUNCHER)

merge: $(STAMP) ## prove that every request was asked in one shard, and record the answers
	@$(RUN) merge study=$(STUDY)

apptainer: $(STAMP) ## definition files for Apptainer, into build/
	@$(RUN) apptainer wheels="$(WHEELS)"

generate: $(STAMP) ## raw generations, one file a cell
	@$(RUN) reproduce study=$(STUDY) until=generate

score: $(STAMP) ## observations, read from the generations
	@$(RUN) reproduce study=$(STUDY) until=score

analyse: $(STAMP) ## tables, figures and metrics
	@$(RUN) reproduce study=$(STUDY) until=analyse

report: $(STAMP) ## the HTML report
	@$(RUN) reproduce study=$(STUDY) until=report

compare: $(STAMP) ## published numbers beside ours, with verdicts; fails where one differs
	@$(RUN) compare study=$(STUDY)

pipeline: $(STAMP) ## write dvc.yaml from conf/study
	@$(RUN) pipeline

bundle: $(STAMP) ## one archive from which a reviewer recomputes every number, into build/
	@$(RUN) bundle study=$(STUDY) images="$(IMAGES)" models="$(MODELS)" texts="$(TEXTS)"

verify: $(STAMP) ## BUNDLE=FILE: check every hash, recompute every number, compare; offline
	@$(RUN) verify bundle="$(BUNDLE)" sha256="$(SHA256)" limit="$(LIMIT)"

rehearse: $(STAMP) ## the paper study at full size, simulated, into build/ (WRONG=1: one model must differ)
	@$(RUN) rehearse wrong="$(WRONG)" fresh="$(FRESH)"

kick-the-tires: $(STAMP) ## minutes, no key, GPU or network: expected beside got
	@$(RUN) kick-the-tires

# Without the stamp: what is not installed is what it tells.
doctor: ## what this machine can run, and what to do about each lack
	@if [ -x $(VENV)/bin/python ]; then PYTHONPATH=src python -m stablechoice doctor; else PYTHONPATH=src "$(PYTHON)" -m stablechoice doctor; fi

test: $(STAMP) ## the whole test suite
	@python -m pytest

test-quick: $(STAMP) ## tests that load no model, start no browser, cluster or pipeline
	@python -m pytest -m "not model and not pipeline and not browser and not docker and not slurm"

lint: $(STAMP) ## ruff and the type checker
	@ruff check . && ruff format --check . && mypy

bench: $(STAMP) ## measure speed (bench/), results on the terminal
	@for file in bench/bench_*.py; do echo "== $$file"; python $$file; done

clean: ## remove .venv, converted models and caches; answers (.journal) and results stay
	rm -rf $(VENV) models .mypy_cache .ruff_cache .pytest_cache
