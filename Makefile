# Gatehouse: `make` prints what there is to make.

TARGET ?= fakeapi
OUT    ?= out/$(TARGET)
FOCUS  ?=
LABELS ?=
PROCS  ?=
FLAGS  ?=

GO        ?= go
GATEHOUSE := bin/gatehouse

.DEFAULT_GOAL := help

.PHONY: help
help: ## Print this list.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo '  TARGET=fakeapi|envtest|kubeconfig (with KUBECONFIG=FILE), FOCUS=REGEXP and LABELS=FILTER select cases,'
	@echo '  OUT=DIR says where the reports go, PROCS=N how many processes run cases.'

.PHONY: build
build: ## Build bin/gatehouse.
	$(GO) build -o $(GATEHOUSE) ./cmd/gatehouse

.PHONY: conformance
conformance: build ## Run the conformance suite on TARGET, or put the webhook of WEBHOOK=DIR on trial; the reports go to OUT.
ifdef WEBHOOK
	@$(if $(filter envtest,$(TARGET)),KUBEBUILDER_ASSETS="$$(hack/envtest-assets/build)") \
	$(GATEHOUSE) webhook --config $(WEBHOOK)/gatehouse.yaml --target $(TARGET) --out $(OUT) \
	  $(if $(and $(filter kubeconfig,$(TARGET)),$(KUBECONFIG)),--kubeconfig '$(KUBECONFIG)') $(FLAGS)
else
	@$(if $(filter envtest,$(TARGET)),KUBEBUILDER_ASSETS="$$(hack/envtest-assets/build)") \
	$(GATEHOUSE) conformance --target $(TARGET) --out $(OUT) \
	  $(if $(FOCUS),--focus '$(FOCUS)') $(if $(LABELS),--labels '$(LABELS)') $(if $(PROCS),--procs $(PROCS)) \
	  $(if $(and $(filter kubeconfig,$(TARGET)),$(KUBECONFIG)),--kubeconfig '$(KUBECONFIG)') $(FLAGS)
endif

.PHONY: real-webhooks
real-webhooks: build ## Put webhooks that others wrote on trial: pod-security-admission, agnhost, an example of controller-runtime.
	hack/real-webhooks/run $(GATEHOUSE)

# What puts dozens of webhooks on trial, or runs whole commands, takes minutes under the race detector, which sees the same
# code at work elsewhere.
SLOW := ./suites/webhook/zoo ./cmd/gatehouse

.PHONY: test
test: ## Run the tests; with RACE=1 under the race detector (which needs a C compiler).
ifdef RACE
	$(GO) test -race $(TESTFLAGS) $$($(GO) list ./... | grep -v $(SLOW:.%=-e %))
	$(GO) test $(TESTFLAGS) $(SLOW)
else
	$(GO) test $(TESTFLAGS) ./...
endif
	$(GO) -C hack/tools test $(TESTFLAGS) ./...

.PHONY: lint
lint: ## Check gofmt, go vet and staticcheck.
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	  if [ -n "$$unformatted" ]; then echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) -C hack/tools build -o "$(CURDIR)/bin/" honnef.co/go/tools/cmd/staticcheck
	bin/staticcheck ./...
	$(GO) -C hack/tools vet ./...
	cd hack/tools && ../../bin/staticcheck ./...

.PHONY: bench
bench: ## Run the benchmarks.
	$(GO) test -run '^$$' -bench '$(or $(FOCUS),.)' -benchmem ./hack/bench ./fakeapi/internal/admission/... ./fixtures/... ./reports/...

.PHONY: generate
generate: ## Write the generated files again: JSON Schemas, and what a real kube-apiserver answers (needs its assets).
	$(GO) generate ./...

.PHONY: envtest-assets
envtest-assets: ## Make sure that kube-apiserver, etcd, kubectl and kube-controller-manager are there; print their directory.
	@hack/envtest-assets/build

.PHONY: mutants
mutants: ## Break fakeapi in each way of hack/mutants and see that the named cases turn red.
	$(GO) -C hack/tools run ./mutants -root "$(CURDIR)" $(if $(FOCUS),-focus '$(FOCUS)') $(FLAGS)

.PHONY: compare
compare: ## Hold validation, defaults and conversions against the packages of Kubernetes.
	$(GO) -C hack/compare test ./...

.PHONY: readers
readers: ## Give the CI samples and JUnit files to those who read them: actionlint, Prow, Sonobuoy, TestGrid.
	$(GO) -C hack/ci/readers test ./...

.PHONY: ci
ci: ## Run what continuous integration runs.
	.ci/run
