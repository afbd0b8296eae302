# bench/device.mk
#	What bench/device runs: the device library, the measuring programs, the
#	generators of their data, and the tests that a device itself executes.
#	Needs nvcc and gcc; or, with SIMT=1, g++ and the CUDA headers.
#
#	make -f bench/device.mk all OUT=DIR [ARCHS="90 100"] [SIMT=1]

HERE := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
TOP := $(abspath $(HERE)/..)
OUT ?= $(HERE)/build/device
override OUT := $(abspath $(OUT))
BUILD := $(OUT)/objects
ARCHS ?= 75 80 86 89 90 100 120
NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif

GENERATORS := gen_taxi gen_reviews gen_events
ENGINE := $(wildcard $(TOP)/src/parse/*.c $(TOP)/src/parse/cpu/*.c $(TOP)/src/parse/json/*.c)
PROGRAMS := $(addprefix $(OUT)/,$(GENERATORS) device_measure device_copy device_join)

.PHONY: all
all: $(PROGRAMS) library tests

$(OUT) $(BUILD):
	mkdir -p $@

$(OUT)/gen_%: $(HERE)/gen_%.c | $(OUT)
	$(CC) -std=gnu11 -O2 -o $@ $< -lm

ENGINE_OBJS := $(patsubst $(TOP)/src/parse/%.c,$(BUILD)/%.o,$(ENGINE))
$(BUILD)/%.o: $(TOP)/src/parse/%.c | $(BUILD)
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 -I$(TOP)/src -c -o $@ $<
FRAME := $(HERE)/device_frame.c $(HERE)/device_frame.h
$(OUT)/device_measure: $(HERE)/device_measure.c $(FRAME) $(ENGINE_OBJS) $(wildcard $(TOP)/src/*.h $(TOP)/src/parse/*.h $(TOP)/cuda/library.h)
	$(CC) -std=gnu11 -O2 -Wall -Wextra -I$(TOP)/src -o $@ $< $(HERE)/device_frame.c $(ENGINE_OBJS) -ldl -lm

TRIE_OBJS := $(patsubst $(TOP)/src/%.c,$(BUILD)/%.o,$(wildcard $(TOP)/src/trie/*.c))
$(BUILD)/trie/%.o: $(TOP)/src/trie/%.c | $(BUILD)
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 -I$(TOP)/src -c -o $@ $<
$(OUT)/device_join: $(HERE)/device_join.c $(FRAME) $(HERE)/graphs.c $(HERE)/graphs.h $(TRIE_OBJS) $(TOP)/src/trie/join.h $(TOP)/cuda/library.h
	$(CC) -std=gnu11 -O2 -Wall -Wextra -I$(TOP)/src -o $@ $< $(HERE)/device_frame.c $(HERE)/graphs.c $(TRIE_OBJS) -ldl -pthread

.PHONY: library tests
ifeq ($(SIMT),)
library:
	$(MAKE) -C $(TOP)/cuda OUT=$(OUT) BUILD=$(BUILD)/library ARCHS="$(ARCHS)"
tests:
	$(MAKE) -C $(TOP)/test/cuda device BUILD=$(BUILD)/tests OUT=$(OUT)/tests ARCHS="$(ARCHS)"
$(OUT)/device_copy: $(HERE)/device_copy.cpp | $(OUT)
	$(NVCC) -std=c++17 -O2 --cudart static -o $@ $<
else
SIMT_BUILD := $(BUILD)/simt
include $(TOP)/test/simt/simt.mk
library:
	$(MAKE) -C $(TOP)/test/simt lib OUT=$(OUT) BUILD=$(BUILD)/layer
	mv -f $(OUT)/parparaw_cuda_simt.so $(OUT)/parparaw_cuda.so
# the layer's own suite runs them
tests:
$(OUT)/device_copy: $(HERE)/device_copy.cpp $(SIMT_LIB_plain) | $(OUT)
	$(SIMT_CXX_plain) $(SIMT_FLAGS_plain) $(SIMT_LINK_plain) -o $@ $< $(SIMT_LIB_plain)
endif
