# The two commands of the README, and what they are made of.
#   make demo   build, compile SmolLM2 to a bundle, generate an answer
#   make test   build and run every test
#   make        build into build/bin

.PHONY: all setup configure build test demo clean
all: build

setup:
	@scripts/setup.sh

configure: setup
	@test -f build/build.ninja || cmake --preset release

build: configure
	@cmake --build --preset release

test: build
	@ctest --preset release -j 2

demo: build
	@scripts/demo.sh

clean:
	rm -rf build build-debug build-asan build-runtime
