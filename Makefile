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

.PHONY: help install reproduce prepare sample models answer generate score analyse report pipeline test test-quick lint bench clean

help: ## list every target
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'
	@echo
	@echo "  STUDY=$(STUDY) picks a file of conf/study; TORCH=cpu|cuda|auto picks the build of torch;"
	@echo "  RUNTIME=native|cpu|cuda|auto picks where it runs."

install: $(STAMP) ## .venv from the hash-locked requirements

$(STAMP): requirements/cpu.lock requirements/cuda.lock requirements/models.lock pyproject.toml requirements/install.sh
	@bash requirements/install.sh "$(PYTHON)" "$(VENV)" "$(TORCH)"
	@touch $(STAMP)

reproduce: $(STAMP) ## the whole study: prepare, sample, answer, generate, score, analyse, report
	@$(RUN) reproduce study=$(STUDY)

prepare: $(STAMP) ## the study's questions, pinned and checked
	@$(RUN) reproduce study=$(STUDY) until=prepare

sample: $(STAMP) ## the ids that the study asks
	@$(RUN) reproduce study=$(STUDY) until=sample

models: $(STAMP) ## fetch, convert and check the study's models beforehand
	@$(RUN) models study=$(STUDY)

answer: $(STAMP) ## answer what is missing, one process and one model load
	@$(RUN) reproduce study=$(STUDY) until=answer

generate: $(STAMP) ## raw generations, one file a cell
	@$(RUN) reproduce study=$(STUDY) until=generate

score: $(STAMP) ## observations, read from the generations
	@$(RUN) reproduce study=$(STUDY) until=score

analyse: $(STAMP) ## tables, figures and metrics
	@$(RUN) reproduce study=$(STUDY) until=analyse

report: $(STAMP) ## the HTML report
	@$(RUN) reproduce study=$(STUDY) until=report

pipeline: $(STAMP) ## write dvc.yaml from conf/study
	@$(RUN) pipeline

test: $(STAMP) ## the whole test suite
	@python -m pytest

test-quick: $(STAMP) ## tests that load no model, start no browser and run no pipeline
	@python -m pytest -m "not model and not pipeline and not browser and not docker"

lint: $(STAMP) ## ruff and the type checker
	@ruff check . && ruff format --check . && mypy

bench: $(STAMP) ## measure speed (bench/), results on the terminal
	@for file in bench/bench_*.py; do echo "== $$file"; python $$file; done

clean: ## remove .venv, converted models and caches; answers (.journal) and results stay
	rm -rf $(VENV) models .mypy_cache .ruff_cache .pytest_cache
