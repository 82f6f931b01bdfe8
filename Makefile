# Ossify. `make help` lists the targets; CONTRIBUTING.md says more.
#
#   config=release|debug|sanitize|tsan|coverage    how the library and its tests are built
#   CC=gcc|clang|...                               the C compiler
#   OPENBLAS=system                                the OpenBLAS pkg-config finds, not the pinned one
#   PYTHON=python3                                 the interpreter the environment is made with
#   TESTS=words                                    only the C tests whose names hold one of the words
#   target=windows-x64|...                         build for that platform, with zig (tools/platforms.py)
#   BLENDER=/path/to/blender                       your own Blender, not the ones of the bpy package

comma := ,
config ?= release
PYTHON ?= python3
OPENBLAS ?= pinned
FUZZ_CC ?= clang
FUZZ_SECONDS ?= 600
COVERAGE_LEAST ?= 95

.DEFAULT_GOAL := lib
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
ifeq ($(MAKELEVEL),0) # on all processors, unless -j is given
MAKEFLAGS += -j$(or $(shell getconf _NPROCESSORS_ONLN 2>/dev/null),1)
endif

ifeq ($(filter $(config),release debug sanitize tsan coverage fuzz),)
$(error config=$(config) is not known: take release, debug, sanitize, tsan or coverage)
endif

# ---- the platform

ifdef target
  platform := $(firstword $(subst -, ,$(target)))
  machine := $(if $(filter %-x64,$(target)),x86_64,arm64)
else ifeq ($(OS),Windows_NT)
  platform := windows
  machine := $(PROCESSOR_ARCHITECTURE)
else
  platform := $(if $(filter Darwin,$(shell uname -s)),macos,linux)
  machine := $(shell uname -m)
endif
library_name := libossify$(or $(if $(filter windows,$(platform)),.dll),$(if $(filter macos,$(platform)),.dylib),.so)
exe := $(if $(filter windows,$(platform)),.exe)

# x86-64-v2 is what Blender itself asks of a processor.
ARCH ?= $(if $(filter x86_64 AMD64,$(machine)),-march=$(if $(target),x86_64_v2,x86-64-v2))

# ---- the development environment: pinned packages in the cache folder, no root

cache := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ossify
key = $(shell $(PYTHON) -c "import hashlib as h; print(h.sha256(open('$(1)', 'rb').read()).hexdigest()[:12])")
python_key := $(shell $(PYTHON) -c "import sys; print('%d.%d' % sys.version_info[:2])")
venv := $(cache)/venv-$(python_key)-$(call key,requirements.txt)
venv_python := $(venv)/$(if $(filter Windows_NT,$(OS)),Scripts/python.exe,bin/python)
environment := $(venv)/openblas.mk

goals := $(or $(MAKECMDGOALS),lib)
ifneq ($(filter-out help clean,$(goals)),)
  ifeq ($(python_key),)
    $(error $(PYTHON) does not run: Python 3.10 or newer is needed, name it with make PYTHON=...)
  endif
  include $(environment)
endif

$(environment):
	@$(PYTHON) tools/venv.py "$(venv)" requirements.txt "$@"

# A target brings its own OpenBLAS; zig compiles for all of them.
ifdef target
  cross := $(cache)/openblas-$(call key,tools/requirements/openblas.txt)-$(target)/target.mk
  include $(cross)
  override CC := $(venv_python) -m ziglang cc -target $(ZIG_TARGET)
  export ZIG_GLOBAL_CACHE_DIR := $(cache)/zig

$(cross): | $(environment)
	@$(venv_python) tools/cross.py $(target) "$@"
endif

# What linkers write for a time (a .dll has one) is the first that a zip file can name, as in tools/archive.py.
export SOURCE_DATE_EPOCH := 315532800

# ---- how C is compiled

out := build$(if $(target),/$(target))
version := $(shell sed -n 's/^version *= *"\(.*\)".*/\1/p' blender_manifest.toml)

# Constants are enumerators here: to compute with one in double is meant.
warnings := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Werror \
            $(if $(target),-Wno-enum-float-conversion)
# No -ffast-math, and no fused multiplications: the same input must give the same bits on every processor.
arithmetic := -ffp-contract=off -fno-math-errno -fno-trapping-math
optimise.release := -O3 -DNDEBUG
optimise.debug := -O0 -g
optimise.sanitize := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
optimise.tsan := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
optimise.coverage := -O0 -g --coverage -fprofile-update=atomic -DTEST_SLOW_BUILD
optimise.fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
link.fuzz := -fsanitize=fuzzer,address,undefined
link.sanitize := -fsanitize=address,undefined
link.tsan := -fsanitize=thread
link.coverage := --coverage

ifeq ($(OPENBLAS),system)
  openblas_compile := -DOSSIFY_SYSTEM_OPENBLAS $(shell pkg-config --cflags openblas)
  openblas_link := $(shell pkg-config --libs openblas)
  openblas_copies :=
  ifeq ($(openblas_link),)
    $(error OPENBLAS=system: pkg-config finds no openblas)
  endif
else
  openblas_compile := -isystem $(OPENBLAS_INCLUDE)
  openblas_link := $(OPENBLAS_LINK)
  openblas_copies := $(addprefix $(out)/,$(notdir $(OPENBLAS_FILES)))
endif

compile = $(CC) -std=c11 $(ARCH) $(arithmetic) $(optimise.$(config)) -fvisibility=hidden $(warnings) \
          $(if $(filter windows,$(platform)),,-fPIC -pthread) -Inative $(openblas_compile) \
          -DOSSIFY_VERSION='"$(version)"' $(CPPFLAGS) $(CFLAGS)
link = $(CC) $(link.$(config)) $(if $(target),-s) $(LDFLAGS)
libraries = $(openblas_link) $(if $(filter windows,$(platform)),,-pthread) -lm $(LDLIBS)

# build/ carries its own OpenBLAS: whatever is linked looks for it beside itself and further up.
origin := $(if $(filter macos,$(platform)),@loader_path,$$ORIGIN)
rpath = $(if $(filter windows,$(platform)),,$(foreach up,$(1),-Wl,-rpath,'$(origin)$(up)'))

# ---- what is built where

compiler := $(if $(target),zig,$(notdir $(firstword $(filter-out ccache distcc,$(CC)))))
objects := $(out)/$(config)/$(compiler)
library := $(if $(filter release,$(config)),$(out),$(out)/$(config))/$(library_name)
# Windows looks for OpenBLAS beside the program, and nowhere else.
programs := $(if $(filter windows,$(platform)),$(out),$(objects))
runner := $(programs)/run-tests$(exe)
replay := $(programs)/fuzz-replay$(exe)

native_sources := $(wildcard native/*/*.c)
native_objects := $(native_sources:%.c=$(objects)/%.o)
test_sources := $(filter-out tests/native/fuzz_%,$(wildcard tests/native/*.c))
test_objects := $(test_sources:%.c=$(objects)/%.o)
c_files := $(wildcard native/*.h native/*/*.[ch] tests/native/*.[ch])

# make V=1 shows the whole commands
quietly = $(if $(V),,@echo '  $(1) $(2)';)

# A file that changes only when its text does: the flags of the objects, the maker of the library.
define keep_text
@mkdir -p $(@D) && printf '%s\n' '$(subst ','\'',$(1))' > $@.new && \
 if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
endef
.PHONY: always
$(objects)/flags: always
	$(call keep_text,$(compile))
$(out)/$(config)/linked: always
	$(call keep_text,$(link) $(libraries) $(native_objects) $(test_objects))

$(objects)/%.o: %.c $(objects)/flags
	@mkdir -p $(@D)
	$(call quietly,compile,$<)$(compile) -MMD -MP -c $< -o $@

$(openblas_copies): $(OPENBLAS_FILES)
	@mkdir -p $(out)
	@cp $(OPENBLAS_FILES) $(out)/

ifeq ($(platform),macos)
  shared := -shared -install_name @rpath/$(library_name)
else ifeq ($(platform),linux)
  shared := -shared -Wl,-soname,$(library_name) $(if $(filter release debug,$(config)),-Wl$(comma)--no-undefined)
else
  shared := -shared -Wl,--out-implib,$(library:.dll=.lib)
endif
$(library): $(native_objects) $(out)/$(config)/linked $(openblas_copies)
	$(call quietly,link,$@)$(link) $(shared) $(call rpath,$(if $(filter release,$(config)),/.,/. /..)) \
	 $(native_objects) $(libraries) -o $@

# The tests link the objects, not the library: they may look into every room.
$(runner): $(test_objects) $(native_objects) $(out)/$(config)/linked $(openblas_copies)
	$(call quietly,link,$@)$(link) $(call rpath,/../..) $(test_objects) $(native_objects) $(libraries) -o $@

# The fuzz target: driven by libFuzzer (config=fuzz), or fed the kept corpus by a plain main.
fuzz_objects := $(objects)/tests/native/fuzz_api.o
replay_objects := $(fuzz_objects) $(objects)/tests/native/fuzz_replay.o
corpus := $(wildcard tests/native/corpus/*)

$(objects)/fuzz: $(fuzz_objects) $(native_objects) $(openblas_copies)
	$(call quietly,link,$@)$(link) $(call rpath,/../..) $(fuzz_objects) $(native_objects) $(libraries) -o $@

# For another platform it goes through the library as it ships, to see that it loads and what it exports.
replayed := $(if $(target),$(library:.dll=.lib),$(native_objects))
$(replay): $(replay_objects) $(if $(target),$(library),$(native_objects)) $(openblas_copies)
	$(call quietly,link,$@)$(link) $(call rpath,/../..) $(replay_objects) $(replayed) $(libraries) -o $@

-include $(native_objects:.o=.d) $(replay_objects:.o=.d) $(test_objects:.o=.d)

# ---- targets

.PHONY: lib wheel extension extensions release demo pictures test test-build test-c test-python test-addon test-blenders test-windows \
        test-rebuild test-address test-threads coverage bench hashes fuzz fuzz-files fuzz-run fuzz-keep fuzz-merge lock format lint graph clean help

lib: $(library) ## build the library

# The wheel that carries the library into Blender; the same for pip.
wheel := build/wheels/ossify-$(version)-py3-none-$(WHEEL_TAG).whl
ifdef target
wheel: $(wheel)
$(wheel): $(library) $(OPENBLAS_FILES) $(addprefix tools/,wheel.py archive.py bundled.py) $(wildcard licenses/*) \
          LICENSE blender_manifest.toml $(wildcard addon/native/*.py) docs/python.md
	$(call quietly,pack,$@)$(venv_python) tools/wheel.py $@ $(version) $(library) $(OPENBLAS_FILES) \
	 --notice $(OPENBLAS_LICENSE)
endif

# tools/platforms.py knows more about them
platforms := linux-x64 windows-x64 windows-arm64 macos-arm64 macos-x64
this_platform = $(shell $(PYTHON) tools/platforms.py)
make_wheel = $(MAKE) --no-print-directory wheel config=release target=$(1)

extension: ## build/dist: the zip for this machine, built and validated by Blender's own tool
	+@$(call make_wheel,$(this_platform))
	@$(venv_python) tools/extension.py $(this_platform)

extensions: ## build/dist: the zips for every platform, and a bill of materials for each
	+@$(foreach name,$(platforms),$(call make_wheel,$(name)) &&) true
	@$(venv_python) tools/extension.py --materials $(platforms)

release: extensions ## build/release: zips, wheels, checksums, changelog, and what a person has to upload where
	@$(venv_python) tools/release.py

test-rebuild: extension ## whether the zip for this machine has the same bytes when it is built again elsewhere
	@$(venv_python) tools/rebuild.py $(this_platform)

demo: ## build/demo: moving meshes, the rigs made of them, and a picture of both; prints a table
	@$(venv_python) tools/blenders.py needed
	@$(MAKE) --no-print-directory extension
	@$(venv_python) tools/demo/run.py

pictures: extension ## docs/pictures: those of the README and the manual, made anew
	@$(venv_python) tools/pictures.py

test: ## all tests: in C, in Python, and of the extension in the oldest and the newest bpy package, side by side
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL $(venv_python) tools/check.py --tests $(MAKEOVERRIDES)

test-build: $(runner) $(replay) lib
	@if $(venv_python) tools/blenders.py any; then $(MAKE) --no-print-directory extension; fi

# OpenBLAS is not built with the thread sanitizer, so what it does inside cannot be judged.
test_environment.tsan := TSAN_OPTIONS=suppressions=tests/native/tsan.supp:halt_on_error=1
test_environment.sanitize := UBSAN_OPTIONS=print_stacktrace=1

test-c: $(runner) $(replay) ## the tests in C, in the config at hand
	@$(test_environment.$(config)) $(run) $(replay) $(corpus)
	@$(test_environment.$(config)) $(venv_python) tools/test_c.py $(run) $(runner) -- $(TESTS)

test-python: lib ## the tests in Python
	OSSIFY_LIBRARY=$(abspath $(library)) $(venv_python) -m pytest

test-addon: extension ## the extension, installed from its zip, in the oldest and the newest bpy package
	@$(venv_python) tools/test_blenders.py --only "$(TESTS)" oldest newest

BLENDERS ?= 4.2 4.5 5.0 trixie sid
test-blenders: extension ## the same in every Blender there is, with a window where there is one; pictures in build/screens
	@$(venv_python) tools/test_blenders.py --only "$(TESTS)" $(BLENDERS)

test-windows: ## the tests in C for Windows, under wine
	@if $(venv_python) tools/wine.py; then \
	 $(MAKE) --no-print-directory test-c config=release target=windows-x64 run='$(venv_python) tools/wine.py'; fi

# clang finds a little more than gcc, where it comes with its run-time libraries
sanitize_cc = $(shell echo 'int main(void) { return 0; }' | clang -fsanitize=thread -x c - -o /dev/null 2>/dev/null \
                && echo clang || echo '$(CC)')
test-address: ## the tests in C under the address and undefined-behaviour sanitizers
	$(MAKE) test-c config=sanitize CC=$(sanitize_cc)
test-threads: ## the tests in C under the thread sanitizer
	$(MAKE) test-c config=tsan CC=$(sanitize_cc)

coverage: ## line coverage of native/ by the tests in C; fails below COVERAGE_LEAST percent
	@find build/coverage -name '*.gcda' -exec rm {} + 2>/dev/null || true
	$(MAKE) test-c config=coverage
	$(venv_python) tools/coverage.py build/coverage/$(compiler) native $(COVERAGE_LEAST)

bench: lib ## the figures, against py-dem-bones; writes docs/benchmarks.md (BENCH="--only speed" for a part)
	$(venv_python) bench/run.py $(BENCH)

hashes: lib ## hashes of the rigs the library makes, to compare two versions (HASHES="--quick --compare BEFORE.json")
	$(venv_python) bench/hashes.py $(HASHES)

fuzz: ## feed the public calls with made-up input for FUZZ_SECONDS; needs clang
	@command -v $(FUZZ_CC) >/dev/null || \
	 { echo "make fuzz: $(FUZZ_CC) is not here, and only clang has libFuzzer; install clang or name it: FUZZ_CC=..." >&2; exit 1; }
	$(MAKE) fuzz-run config=fuzz CC=$(FUZZ_CC)

fuzz-run: $(objects)/fuzz
	@mkdir -p build/fuzz/found
	$(objects)/fuzz -max_total_time=$(FUZZ_SECONDS) -timeout=25 -rss_limit_mb=4096 -max_len=512 -len_control=0 \
	 -artifact_prefix=build/fuzz/ -print_final_stats=1 build/fuzz/found $(wildcard tests/native/corpus)

fuzz-files: ## feed what reads files and what rigs remember with made-up bytes for FUZZ_SECONDS
	@$(venv_python) tools/fuzz_files.py $(FUZZ_SECONDS)

fuzz-keep: ## renew the kept corpus with the least set of inputs that reaches as much as all found
	$(MAKE) fuzz-merge config=fuzz CC=$(FUZZ_CC)

fuzz-merge: $(objects)/fuzz
	@rm -rf build/fuzz/merged && mkdir -p build/fuzz/merged build/fuzz/found
	$(objects)/fuzz -set_cover_merge=1 -use_counters=0 build/fuzz/merged $(wildcard tests/native/corpus) build/fuzz/found
	@mkdir -p tests/native/corpus
	rm -f tests/native/corpus/* && cp build/fuzz/merged/* tests/native/corpus/

lock: ## the hashes of all packages anew (LOCK=--upgrade also takes newer versions of what nobody names)
	$(venv_python) tools/lock.py $(LOCK)

format: ## format C and Python
	$(dir $(venv_python))clang-format -i $(c_files)
	$(venv_python) -m ruff format .
	$(venv_python) -m ruff check --fix .

lint: ## check formats, Python, and who may call and import whom
	$(dir $(venv_python))clang-format --dry-run --Werror $(c_files)
	$(venv_python) -m ruff format --check .
	$(venv_python) -m ruff check .
	$(venv_python) tools/graph.py --quiet

graph: ## who calls and imports whom, folder by folder; docs/pictures/native.svg and addon.svg, drawn anew
	@$(venv_python) tools/graph.py --picture docs/pictures

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
	 while IFS='|' read -r name text; do printf '%-16s %s\n' "$$name" "$$text"; done
