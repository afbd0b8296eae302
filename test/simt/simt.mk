# test/simt/simt.mk
#	How code for the host SIMT layer is compiled and linked, for the Makefiles
#	that build such code: include it, then for a mode M of plain, asan, tsan
#	and count
#
#	$(SIMT_CXX_M) $(SIMT_FLAGS_M) -c FILE.cpp		kernels, drivers, tests
#	$(SIMT_CXX_M) $(SIMT_FLAGS_M) -x c++ -c FILE.cu
#	$(SIMT_CC_M) $(SIMT_CFLAGS_M) -c FILE.c			the engine's C sources
#	$(SIMT_CXX_M) $(SIMT_LINK_M) ... $(SIMT_LIB_M)	programs
#	$(SIMT_RUN_M) PROGRAM							how they are run
#
#	with rules that make $(SIMT_LIB_M), under SIMT_BUILD.  SIMT_CUDA_MISSING is
#	not empty if there are no CUDA headers, SIMT_TSAN_MISSING if no compiler
#	can build for ThreadSanitizer.  PP_CUDA_INCLUDE may name the directories of
#	the headers (colons between them), as of an installed nvidia-cuda-runtime.

SIMT_DIR := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
SIMT_TOP := $(abspath $(SIMT_DIR)/../..)
SIMT_BUILD ?= $(SIMT_DIR)/build

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif

# The first place that has the headers.
SIMT_NVCC := $(shell readlink -f "$$(command -v nvcc 2>/dev/null)" 2>/dev/null)
SIMT_PLACES := $(if $(CUDA_HOME),$(CUDA_HOME)/include) /usr/local/cuda/include \
	$(if $(SIMT_NVCC),$(abspath $(dir $(SIMT_NVCC))../include)) /usr/include /usr/local/include
ifneq ($(PP_CUDA_INCLUDE),)
SIMT_CUDA_INCLUDE := $(subst :, ,$(PP_CUDA_INCLUDE))
else
SIMT_CUDA_INCLUDE := $(firstword $(foreach d,$(SIMT_PLACES),$(if $(wildcard $(d)/cuda_runtime_api.h),$(d))))
endif
SIMT_CUDA_MISSING := $(if $(wildcard $(addsuffix /cuda_runtime_api.h,$(SIMT_CUDA_INCLUDE))),,yes)

SIMT_WARN := -Wall -Wextra -Werror -Wno-unknown-pragmas
SIMT_INCLUDE := -I$(SIMT_DIR) -I$(SIMT_TOP)/cuda -I$(SIMT_TOP)/src \
	$(addprefix -isystem ,$(SIMT_CUDA_INCLUDE))

# A compiler whose ThreadSanitizer works here.  The search costs seconds, so its
# outcome is kept.
SIMT_TSAN_FOUND := $(SIMT_BUILD)/tsan-compiler
$(SIMT_TSAN_FOUND): $(SIMT_DIR)/find-tsan.sh
	@mkdir -p $(@D)
	@sh $< "$(SIMT_TSAN_CXX)" > $@

SIMT_CXX_plain := $(CXX)
SIMT_CXX_asan := $(CXX)
SIMT_CXX_tsan = $(shell sed -n 1p $(SIMT_TSAN_FOUND))
SIMT_CXX_count := $(CXX)
SIMT_CC_plain := $(CC)
SIMT_CC_asan := $(CC)
SIMT_CC_tsan = $(shell sed -n 2p $(SIMT_TSAN_FOUND))
SIMT_CC_count := $(CC)
SIMT_RUN_plain :=
SIMT_RUN_asan :=
SIMT_RUN_tsan = $(shell sed -n 3p $(SIMT_TSAN_FOUND))
SIMT_RUN_count :=
SIMT_TSAN_KIND = $(shell sed -n 4p $(SIMT_TSAN_FOUND))
SIMT_TSAN_MISSING = $(if $(shell test -s $(SIMT_TSAN_FOUND) && echo there),,yes)

# Modes: what kernels are compiled with (K) and the runtime (R).
SIMT_K_plain := -O2 -g
SIMT_R_plain := -O2 -g
SIMT_LINK_plain :=

SIMT_K_asan := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize-recover=all
SIMT_R_asan := $(SIMT_K_asan)
SIMT_LINK_asan := -fsanitize=address,undefined

# The runtime is not instrumented: it tells ThreadSanitizer what it has to know.
SIMT_K_tsan := -O1 -g -fsanitize=thread -DSIMT_TSAN
SIMT_R_tsan := -O1 -g -DSIMT_TSAN
SIMT_LINK_tsan := -fsanitize=thread

# Loads and stores call the functions of bytes.cpp.  Optimizations that would
# leave some out are what nvcc does as well; those that widen them are not.
SIMT_K_count := -O2 -g -fno-tree-vectorize -fno-tree-slp-vectorize -DSIMT_COUNT_BYTES \
	-fsanitize=kernel-address --param asan-instrumentation-with-call-threshold=0 \
	--param asan-stack=0 --param asan-globals=0
SIMT_R_count := -O2 -g -DSIMT_COUNT_BYTES
SIMT_LINK_count :=

SIMT_MODES := plain asan tsan count
SIMT_RUNTIME := fiber schedule grid warp shared signals report settings counters bytes \
	cudart_memory cudart_stream cudart_device
SIMT_KERNEL_SIDE := cudart_kernel device_wide_host
SIMT_HEADERS := $(wildcard $(SIMT_DIR)/*.h) $(SIMT_TOP)/cuda/device.h

# What other executors of kernels link: without SIMT_KERNEL_SIDE.
define simt_rules
SIMT_FLAGS_$(1) = -std=c++17 -fPIC $$(SIMT_WARN) $$(SIMT_K_$(1)) $$(SIMT_INCLUDE) -MMD -MP
SIMT_CFLAGS_$(1) = -std=c11 -fPIC -Wall -Wextra -Werror $$(SIMT_K_$(1)) -I$$(SIMT_TOP)/src -MMD -MP
SIMT_RFLAGS_$(1) = -std=c++17 -fPIC -fvisibility=hidden $$(SIMT_WARN) $$(SIMT_R_$(1)) $$(SIMT_INCLUDE) -MMD -MP
SIMT_OBJS_$(1) := $$(addprefix $$(SIMT_BUILD)/$(1)/,$$(addsuffix .o,$$(SIMT_RUNTIME)))
SIMT_SIDE_$(1) := $$(addprefix $$(SIMT_BUILD)/$(1)/,$$(addsuffix .o,$$(SIMT_KERNEL_SIDE)))
SIMT_LIB_$(1) := $$(SIMT_BUILD)/$(1)/libsimt.a
$$(SIMT_OBJS_$(1)): $$(SIMT_BUILD)/$(1)/%.o: $$(SIMT_DIR)/%.cpp
	@mkdir -p $$(@D)
	$$(SIMT_CXX_$(1)) $$(SIMT_RFLAGS_$(1)) -c -o $$@ $$<
$$(SIMT_SIDE_$(1)): $$(SIMT_BUILD)/$(1)/%.o: $$(SIMT_DIR)/%.cpp
	@mkdir -p $$(@D)
	$$(SIMT_CXX_$(1)) $$(SIMT_FLAGS_$(1)) -fvisibility=hidden -c -o $$@ $$<
$$(SIMT_LIB_$(1)): $$(SIMT_OBJS_$(1)) $$(SIMT_SIDE_$(1))
	rm -f $$@
	ar rcs $$@ $$^
-include $$(wildcard $$(SIMT_BUILD)/$(1)/*.d)
endef
$(foreach m,$(SIMT_MODES),$(eval $(call simt_rules,$(m))))
$(SIMT_OBJS_tsan) $(SIMT_SIDE_tsan): $(SIMT_TSAN_FOUND)
