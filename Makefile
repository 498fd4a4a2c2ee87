# Everything one does with the repository; `make` alone lists it.
#
# Works with GNU make 3.81 (macOS) and later. 3.81 knows no .SHELLFLAGS, so
# every recipe line that has more than one command also joins them with &&.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules --warn-undefined-variables
.DEFAULT_GOAL := help

# The modules are built and tested one by one, as their users get them; the
# workspace is for editors.
export GOWORK := off

# go.work is the one list of modules.
MODULES := $(shell sed -n 's|^[[:space:]]*\(use[[:space:]]*\)\{0,1\}\./\([^[:space:]]*\).*|\2|p' go.work)
ifeq ($(strip $(MODULES)),)
$(error go.work lists no module)
endif

GOLANGCI_LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# To be set on the command line: make test/core TESTFLAGS=-v, make lint/gin LINTFLAGS=--fix.
TESTFLAGS ?=
TESTTIMEOUT ?= 15m
LINTFLAGS ?=
BENCH ?= .
BENCHFLAGS ?= -benchmem
BENCHARGS ?=
FUZZTIME ?= 10s

# $(call each,TARGET,MODULES) makes TARGET/module for every module, goes on
# after a failure and in the end fails with the list of those that failed.
define each
@failed=; \
for module in $(2); do \
	$(MAKE) --no-print-directory $(1)/$$module || failed="$$failed $$module"; \
done; \
if [ -n "$$failed" ]; then echo "make $(1): FAILED in:$$failed" >&2; exit 1; fi; \
echo "make $(1): ok in $(words $(2)) modules"
endef

## help: this list (the default)
.PHONY: help
help:
	@awk '/^## [^:]*: / { colon = index($$0, ":"); printf "  make %-17s %s\n", substr($$0, 4, colon - 4), substr($$0, colon + 2) }' Makefile

## demo: a real server limiting real requests, before your eyes
.PHONY: demo
demo:
	@cd examples && go run ./demo

## test: every test of every module, with the race detector
.PHONY: test
test: deps
	+$(call each,test,$(MODULES))

## test/MODULE: the tests of one, as in make test/gin
.PHONY: $(MODULES:%=test/%)
$(MODULES:%=test/%): test/%:
	@bash scripts/deps.sh $(if $(filter redisstore examples bench,$*),redis) $(if $(filter prommetrics examples,$*),prometheus)
	@echo "--- test $*"
	@cd $* && go test -race -count=1 -shuffle=on -timeout=$(TESTTIMEOUT) $(TESTFLAGS) ./...

## deps: what the tests need beside Go; installed where that is possible
.PHONY: deps
deps:
	@bash scripts/deps.sh $(if $(wildcard redisstore/go.mod),redis) $(if $(wildcard prommetrics/go.mod),prometheus)

## lint: golangci-lint on every module
.PHONY: lint
lint:
	+$(call each,lint,$(MODULES))

## lint/MODULE: golangci-lint on one
.PHONY: $(MODULES:%=lint/%)
$(MODULES:%=lint/%): lint/%:
	@echo "--- lint $*"
	@cd $* && $(GOLANGCI_LINT) run $(LINTFLAGS) ./...

## fmt: format all code
.PHONY: fmt
fmt:
	@$(GOLANGCI_LINT) fmt ./...

## bench: Floodgate beside its peers; writes docs/benchmarks.md (15 minutes)
.PHONY: bench
bench: deps
	@cd bench && go run . $(BENCHARGS)

## bench/each: every module's own benchmarks
.PHONY: bench/each
bench/each:
	+$(call each,bench,$(filter-out bench scripts,$(MODULES)))

## bench/MODULE: the benchmarks of one; BENCH=regexp picks some
.PHONY: $(MODULES:%=bench/%)
$(MODULES:%=bench/%): bench/%:
	@echo "--- bench $*"
	@cd $* && go test -run='^$$' -bench='$(BENCH)' $(BENCHFLAGS) ./...

## fuzz: every fuzz target of every module, FUZZTIME each (10s)
.PHONY: fuzz
fuzz:
	@bash scripts/fuzz.sh $(FUZZTIME) $(MODULES)

## fuzz/MODULE: the fuzz targets of one
.PHONY: $(MODULES:%=fuzz/%)
$(MODULES:%=fuzz/%): fuzz/%:
	@bash scripts/fuzz.sh $(FUZZTIME) $*

## bench/redis: the part of it that is about Redis (5 minutes)
.PHONY: bench/redis
bench/redis: deps
	@cd bench && go run ./redis $(BENCHARGS)

## tidy: go mod tidy in every module
.PHONY: tidy
tidy:
	+$(call each,tidy,$(MODULES))

.PHONY: $(MODULES:%=tidy/%)
$(MODULES:%=tidy/%): tidy/%:
	@cd $* && go mod tidy

## tidy-check: fails if a go.mod or go.sum is not tidy
.PHONY: tidy-check
tidy-check:
	+$(call each,tidy-check,$(MODULES))

.PHONY: $(MODULES:%=tidy-check/%)
$(MODULES:%=tidy-check/%): tidy-check/%:
	@cd $* && go mod tidy -diff

## verify-mods: fails if the go.mod files do not fit together
.PHONY: verify-mods
verify-mods:
	@cd scripts && go run ./verify mods

## verify-structure: fails if a module lacks what every module has
.PHONY: verify-structure
verify-structure:
	@cd scripts && go run ./verify structure

## consumer-check: fails if a module drags in more than its user asked for
.PHONY: consumer-check
consumer-check:
	@cd scripts && go run ./consumer

## code-lines: the lines of code of each adapter
.PHONY: code-lines
code-lines:
	@cd scripts && go run ./codelines

## release: prepares one in a copy and shows it; needs VERSION=v0.1.0, APPLY=1 changes this tree
VERSION ?=
APPLY ?=
.PHONY: release
release:
	@cd scripts && go run ./release $(if $(APPLY),-apply) $(VERSION)
