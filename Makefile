# make build          bin/edge
# make run            build, pack the example site, serve it with a development certificate and ECH keys,
#                     and the example application below /api
# make test           every test
# make explore        the simulated tests ROUNDS times, with random seeds
# make test-browser   the example site and a proxied application in headless Chromium, and ECH in Chromium and
#                     Firefox
# make fuzz           each fuzz target for FUZZTIME
# make bench          Go benchmarks; with HARNESS=path/to/bench.py, edge beside other servers
# make lint           formatting, vet, the rules of the house

# giouring reaches for one unexported function of package syscall, which the
# linker refuses without this flag. Only the binary and edge/reactor/uring need it.
LINK := -checklinkname=0

VERSION ?= $(shell sed -n "s/^## \([0-9][^ ]*\).*/\1/p" CHANGELOG.md | head -n 1)
COMMIT  ?= $(shell git describe --always --dirty --abbrev=12 --exclude="*" 2>/dev/null)
STAMP   := -X edge/edge/cmd.version=$(VERSION) -X edge/edge/cmd.commit=$(COMMIT)

STATE    ?= .state
LISTEN   ?= 0.0.0.0:8443
FUZZTIME ?= 10s
ROUNDS   ?= 10
HARNESS  ?=

# The same for every command, so that they share what they have compiled.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -buildvcs=false $(GOFLAGS)

.PHONY: all build run test explore test-browser fuzz bench lint clean

all: build

build:
	go build -ldflags="$(LINK) $(STAMP)" -o bin/edge ./edge

run: build
	mkdir -p $(STATE)
	tools/setup/setup.sh
	tools/setup/site.sh bin/edge $(STATE)/site.tar
	ls $(STATE)/ech/*.pem >/dev/null 2>&1 || bin/edge keys gen-ech --public-name public.localhost --dir $(STATE)/ech > $(STATE)/ech.zone
	go build -o bin/example-app ./examples/app
	exec examples/run.sh bin/edge bin/example-app --dev --state-dir $(STATE) --ech $(STATE)/ech --listen $(LISTEN) $(STATE)/site.tar

test:
	tools/setup/setup.sh tests
	go vet ./...
	go test -timeout 20m -ldflags=$(LINK) ./...

# A failure prints the seed that replays it: EDGE_SIM_SEED=N go test -run NAME …
explore:
	EDGE_SIM_SEED=random go test -timeout 2h -ldflags=$(LINK) -count $(ROUNDS) ./edge/gateway ./edge/reactor/...

test-browser: build
	mkdir -p $(STATE)
	tools/browser/browser.sh $(STATE)/browser.png
	tools/browser/proxy.sh
	tools/browser/ech.sh

fuzz:
	tools/fuzz/fuzz.sh $(FUZZTIME)

bench: build
	HARNESS=$(HARNESS) tools/bench/bench.sh

lint:
	go vet ./...
	go test ./tools/tidy

clean:
	rm -rf bin $(STATE)
