# Every command a user or contributor needs. Only Python 3.11+, pip and make must be present.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SBOM := $(VENV)/sbom/bin
PLUGIN := $(VENV)/plugin/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
HOST ?= 127.0.0.1
PORT ?= 9504
CLUSTER ?= examples/goal2/cluster.yaml
COMPILE := uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-annotate --quiet --custom-compile-command "make lock"

IMAGE ?= longhorn-scheduler-extender:dev
LABELS = --label org.opencontainers.image.version="$$($(PYTHON) -m supply.version)" \
	--label org.opencontainers.image.revision="$$(git describe --always --abbrev=40 --dirty --exclude '*')" \
	--label org.opencontainers.image.created="$$(git log -1 --format=%cI)" \
	$(if $(SOURCE),--label org.opencontainers.image.source="$(SOURCE)") \
	$(if $(PYTHON_IMAGE),--label org.opencontainers.image.base.name="$(PYTHON_IMAGE)" --build-arg PYTHON_IMAGE="$(PYTHON_IMAGE)")
BUILD ?= docker build
PLATFORM ?= linux-amd64
REPORT ?= benchmarks/reports/$(shell date +%F)
SEED ?=
SEEDS ?= 500
# The version of Kubernetes that runs in tests; without it the newest of those that they know.
ifdef KUBERNETES
export E2E_KUBERNETES := $(KUBERNETES)
endif

# Tests start some hundred processes. Each would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: soak monitoring test-monitoring test-page picture help install install-dev demo serve test test-tools simulate e2e e2e-gate e2e-report control-plane check audit sbom \
	format bench bench-disk-schedule docs schema manifests move image image-test cluster cluster-stop e2e-nodes base-image image-release install-cluster chart plugin lock clean

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 21

install: $(VENV)/.installed ## Make the virtual environment and install the service into it

demo: install ## Start the service on a cluster that is played, and show how pods fill its disks
	$(BIN)/python -m examples.demo

serve: install ## Leave the service running on an embedded cluster (CLUSTER=, HOST=, PORT=)
	$(BIN)/python -m cli serve --cluster-file $(CLUSTER) --host $(HOST) --port $(PORT)

test: install-dev ## Run the tests that need nothing but Python; its end says what others need
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --durations=10

test-tools: install-dev ## Run those tests again that call helm, kubectl and the like; a missing one fails them
	REQUIRE_TOOLS=1 $(BIN)/python -m pytest -m tools --numprocesses auto --dist worksteal --durations=10

simulate: install-dev ## Simulate the whole system: SEED=n replays one run, SEEDS=n goes through many, DISK_SCHEDULES=1, WORST_DAY=1, RUNNERS=1
	$(BIN)/python -m tests.simulation $(if $(SEED),--seed $(SEED),--seeds $(SEEDS)) $(if $(DISK_SCHEDULES),--disk-schedules) $(if $(WORST_DAY),--worst-day) $(if $(RUNNERS),--runners)

soak: control-plane ## Run everything for hours on a real control plane, with faults by chance: HOURS=, SEED=, DISK_SCHEDULES=1
	$(BIN)/python -m tests.soak $(if $(HOURS),--hours $(HOURS)) $(if $(SEED),--seed $(SEED)) $(if $(DISK_SCHEDULES),--disk-schedules)

e2e: control-plane ## Run the end-to-end tests: a real control plane, built once (needs Go 1.26; KUBERNETES=1.36, or the newest)
	$(BIN)/python -m pytest -m "e2e and not alone" --numprocesses 2 --dist loadfile --no-loadscope-reorder \
		--durations=20 tests/contract tests/e2e
	$(BIN)/python -m pytest -m "e2e and alone" --durations=20 tests/e2e

e2e-gate: control-plane ## Run those end-to-end tests that every push must pass (KUBERNETES=)
	$(BIN)/python -m pytest -m "e2e and gate and not slow" --durations=10 tests/contract tests/e2e

e2e-report: control-plane ## Run the end-to-end tests and write their report (REPORT=folder, KUBERNETES=)
	E2E_REPORT=$(REPORT) $(BIN)/python -m pytest -m e2e tests/e2e

check: install-dev ## Lint, types, imports, SBOM, known vulnerabilities: what CI checks besides the tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	@$(MAKE) --no-print-directory sbom audit

audit: install-dev ## Look for known vulnerabilities in what an image holds (REQUIRE_AUDIT=1: or fail)
	$(BIN)/python -m supply.audit $(if $(REQUIRE_AUDIT),--require) requirements/runtime.txt requirements/build.txt

sbom: install-dev ## List what an image holds in dist/sbom.cdx.json (CycloneDX)
	mkdir -p dist
	$(SBOM)/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml \
		--output-reproducible --no-validate --output-file dist/environment.cdx.json
	$(SBOM)/python -m supply.sbom dist/environment.cdx.json requirements/runtime.txt dist/sbom.cdx.json

format: install-dev ## Format the code and mend what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install-dev ## Measure /filter, /prioritize, packing, holds, the forecast, the worst day, the picture, synchronisation, load, memory and the commands filter and plan; prints the tables of benchmarks/reports/DATE/speed.md
	$(BIN)/python -m benchmarks.bench_filter
	$(BIN)/python -m benchmarks.bench_prioritize
	$(BIN)/python -m benchmarks.bench_pack
	$(BIN)/python -m benchmarks.bench_holds
	$(BIN)/python -m benchmarks.bench_forecast
	$(BIN)/python -m benchmarks.bench_worst_day
	$(BIN)/python -m benchmarks.bench_picture
	$(BIN)/python -m benchmarks.bench_sync
	$(BIN)/python -m benchmarks.bench_load
	$(BIN)/python -m benchmarks.bench_memory
	$(BIN)/python -m benchmarks.bench_explain
	$(BIN)/python -m benchmarks.bench_plan

bench-disk-schedule: control-plane ## Measure the controller of DiskSchedules on a real API server
	$(BIN)/python -m benchmarks.bench_disk_schedule

docs: install-dev ## Build the documentation as a site into site/; a broken link is an error
	$(BIN)/python -m supply.catalogue --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

schema: install ## Write the JSON schemas of what commands print with -o json
	for command in claims doctor filter filter-pending filter-volume filter-workloads may-drain overview plan propose-address scheduler-config status survey trial; do \
	    $(BIN)/python -m cli.schema $$command docs/$$command.schema.json || exit 1; \
	done

monitoring: install-dev ## Write the dashboard, and the links of the alerts (RUNBOOKS=address of a runbook, {} for its name)
	$(BIN)/python -m monitoring $(if $(RUNBOOKS),--runbooks '$(RUNBOOKS)')

test-monitoring: install-dev ## Test dashboard and alerts with a real Prometheus (needs prometheus and promtool)
	$(BIN)/python -m pytest -m prometheus tests/monitoring

test-page: install-dev ## Test the picture of a plan in a real browser (needs Chromium)
	$(BIN)/python -m pytest -m browser tests/page

picture: install-dev ## Draw docs/plan.png from a plan (needs Chromium)
	$(BIN)/python -m tests.page.picture docs/plan.png

manifests: install-dev ## Write what kustomize takes from the chart, and the chart's table of values (needs helm)
	$(BIN)/python -m supply.manifests

image: ## Build the container image (needs docker, or another builder: BUILD=; IMAGE=, SOURCE=, PYTHON_IMAGE=)
	$(BUILD) --tag $(IMAGE) $(LABELS) .

image-test: install-dev ## Build the image without docker, and test it (needs root, buildah, debootstrap and runc)
	$(BIN)/python -m pytest -m image --durations=5 tests/cluster

cluster: install-dev ## Start a cluster with real nodes, to install into (needs root; DISKS=100/100, GiB of each node's)
	$(BIN)/python -m tests.cluster.outside start $(if $(DISKS),--disks $(DISKS))

cluster-stop: install-dev ## End that cluster; nothing of it is left
	$(BIN)/python -m tests.cluster.outside stop

e2e-nodes: install-dev ## Run the end-to-end tests that need real nodes (needs root)
	$(BIN)/python -m pytest -m nodes tests/cluster

install-cluster: ## Install with kubectl: IMAGE=, CLUSTER_IP=, INJECTION=policy, ADMISSION=policy, TLS=secret|cert-manager|insecure, PLAIN_UNTIL=, SECOND_SCHEDULER=v1.36.2, NAMESPACE=
	$(PYTHON) -m supply.overlay --image '$(IMAGE)' --cluster-ip '$(CLUSTER_IP)' \
		$(if $(INJECTION),--injection '$(INJECTION)') \
		$(if $(ADMISSION),--admission '$(ADMISSION)') $(if $(TLS),--tls '$(TLS)') \
		$(if $(PLAIN_UNTIL),--plain-until '$(PLAIN_UNTIL)') \
		$(if $(SECOND_SCHEDULER),--second-scheduler '$(SECOND_SCHEDULER)') \
		$(if $(NAMESPACE),--namespace '$(NAMESPACE)') dist/install
	$(if $(NAMESPACE),,kubectl apply --filename manifests/namespace.yaml)
	kubectl apply -k dist/install
	$(if $(filter policy,$(INJECTION)),@$(MAKE) --no-print-directory begin-injection)

# Only once a pod that asks for the extender gets a node.
.PHONY: begin-injection
begin-injection: OURS = kubectl --namespace $(or $(NAMESPACE),longhorn-scheduler)
begin-injection:
	$(OURS) apply --filename manifests/begin-injection.yaml
	$(OURS) wait --for=condition=PodScheduled --timeout=300s pod/longhorn-scheduler-extender-begin
	$(OURS) delete pod/longhorn-scheduler-extender-begin --wait=false
	$(OURS) patch configmap longhorn-scheduler-extender --type merge \
		--patch '{"data":{"scheduler-extender-inject":"true"}}'

move: ## Move the Helm release to another namespace, without leaving pods waiting: FROM=, TO=longhorn-scheduler (needs helm and kubectl)
	$(PYTHON) -m supply.move --from '$(FROM)' $(if $(TO),--to '$(TO)')

chart: ## Pack the chart into dist/ (needs helm; IMAGE= is the repository that it names, SOURCE= the project's page)
	rm -rf dist/chart
	mkdir -p dist
	cp -r charts/longhorn-scheduler-extender dist/chart
	sed 's,^  repository: ""$$,  repository: $(IMAGE),' \
		charts/longhorn-scheduler-extender/values.yaml > dist/chart/values.yaml
	sed -e 's,ghcr.io/OWNER/longhorn-scheduler-extender:,$(IMAGE):,' \
		$(if $(SOURCE),-e 's|https://github.com/OWNER/longhorn-scheduler-extender|$(SOURCE)|') \
		charts/longhorn-scheduler-extender/Chart.yaml > dist/chart/Chart.yaml
	helm package dist/chart --destination dist

base-image: ## Pin the base image in the Dockerfile by the digest that its tag has now (needs buildx)
	digest="$$(docker buildx imagetools inspect "$$($(PYTHON) -m supply.base --tag)" --format '{{.Manifest.Digest}}')" \
		&& $(PYTHON) -m supply.base --set "$$digest"

image-release: ## Build the image for two architectures and push it (needs buildx; IMAGE=, SOURCE=, PYTHON_IMAGE=)
	docker buildx build --push --tag $(IMAGE) --platform linux/amd64,linux/arm64 \
		--provenance mode=max --sbom true $(LABELS) .

plugin: $(VENV)/.installed-plugin ## Build the kubectl plugin, one file that needs no Python (PLATFORM=linux-amd64)
	$(PLUGIN)/pyinstaller --onefile --name kubectl-longhorn_scheduler --log-level ERROR --noconfirm \
		--paths . --copy-metadata longhorn-scheduler-extender --collect-data app.page --collect-data cli.catalogue --exclude-module uvloop \
		--distpath dist --workpath dist/plugin --specpath dist/plugin cli/__main__.py
	tar -czf dist/kubectl-longhorn_scheduler-$(PLATFORM).tar.gz LICENSE -C dist kubectl-longhorn_scheduler

lock: install-dev ## Pin the newest versions pyproject.toml allows, with hashes
	$(PIP) install uv
	$(BIN)/$(COMPILE) pyproject.toml --group test --group docs --group lint --output-file requirements/dev.txt
	$(BIN)/$(COMPILE) pyproject.toml --constraints requirements/dev.txt --output-file requirements/runtime.txt
	$(BIN)/$(COMPILE) --group build --output-file requirements/build.txt
	$(BIN)/$(COMPILE) --group sbom --constraints requirements/dev.txt --output-file requirements/sbom.txt
	$(BIN)/$(COMPILE) --group plugin --constraints requirements/dev.txt --output-file requirements/plugin.txt

clean: ## Remove the virtual environment and the tools' caches
	rm -rf $(VENV) dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache

control-plane: install-dev ## Build the programs of a control plane, once (KUBERNETES=)
	$(BIN)/python -m tests.e2e.controlplane.programs

install-dev: $(VENV)/.installed-dev ## Install what tests and checks need, too

$(VENV)/.installed: pyproject.toml requirements/runtime.txt requirements/build.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one with PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --require-hashes -r requirements/build.txt
	$(PIP) install --require-hashes -r requirements/runtime.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	touch $@

# The tool that lists the packages has an environment of its own, as in the Dockerfile: what it needs
# besides would make every start of Python in the tests slower by a second.
$(VENV)/.installed-dev: $(VENV)/.installed requirements/dev.txt requirements/sbom.txt
	$(PIP) install --require-hashes -r requirements/dev.txt
	test -x $(SBOM)/python || $(PYTHON) -m venv --without-pip $(VENV)/sbom
	$(PIP) --python $(SBOM)/python install --require-hashes -r requirements/sbom.txt
	touch $@

# The plugin's environment holds what goes into it, and nothing else.
$(VENV)/.installed-plugin: $(VENV)/.installed requirements/plugin.txt
	test -x $(PLUGIN)/python || $(PYTHON) -m venv --without-pip $(VENV)/plugin
	$(PIP) --python $(PLUGIN)/python install --require-hashes -r requirements/build.txt -r requirements/runtime.txt
	$(PIP) --python $(PLUGIN)/python install --require-hashes -r requirements/plugin.txt
	$(PIP) --python $(PLUGIN)/python install --no-deps --no-build-isolation .
	touch $@
