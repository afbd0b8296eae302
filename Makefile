# Makefile of parparaw_fdw
#
#   make                  builds the extension (no network, no CUDA needed)
#   make install          installs it into the PostgreSQL of PG_CONFIG, the device
#                         library too if it has been built
#   make installcheck     runs the regression tests on a running server
#   make cuda             builds the device library, parparaw_cuda.so; needs nvcc
#   make simt             builds the same for tests, executed by the CPU,
#                         parparaw_cuda_simt.so; needs g++ and the CUDA headers
#
# Builds outside the source tree work as with any PGXS extension:
#   make -f /path/to/source/Makefile

MODULE_big = parparaw_fdw
EXTENSION = parparaw_fdw
DATA = sql/parparaw_fdw--1.0.sql
PGFILEDESC = "parparaw_fdw - foreign-data wrapper for files of CSV and JSON"

# PostgreSQL glue
OBJS = \
	src/cuda_loader.o \
	src/cuda_slots.o \
	src/join/boxes.o \
	src/join/cells.o \
	src/join/child.o \
	src/join/clause.o \
	src/join/cost.o \
	src/join/device.o \
	src/join/exec.o \
	src/join/explain.o \
	src/join/foreign.o \
	src/join/heap.o \
	src/join/key.o \
	src/join/keytype.o \
	src/join/number.o \
	src/join/path.o \
	src/join/plan.o \
	src/join/recognize.o \
	src/join/resident.o \
	src/join/search.o \
	src/join/setup.o \
	src/join/spill.o \
	src/join/store.o \
	src/join/upper.o \
	src/module.o \
	src/scan/accumulate.o \
	src/scan/aggexec.o \
	src/scan/aggregate.o \
	src/scan/analyze.o \
	src/scan/device.o \
	src/scan/device_explain.o \
	src/scan/exec.o \
	src/scan/explain.o \
	src/scan/filter.o \
	src/scan/groups.o \
	src/scan/json.o \
	src/scan/option.o \
	src/scan/parallel.o \
	src/scan/plan.o \
	src/scan/populate.o \
	src/scan/record.o \
	src/scan/scan.o \
	src/scan/source.o \
	src/scan/zone.o

# parse engine; knows nothing of PostgreSQL
OBJS += \
	src/parse/dfa.o \
	src/parse/dialect.o \
	src/parse/range.o \
	src/parse/stream.o \
	src/parse/stream_ahead.o \
	src/parse/stream_range.o \
	src/parse/utf8.o \
	src/parse/cpu/backend.o \
	src/parse/cpu/convert.o \
	src/parse/cpu/dispatch.o \
	src/parse/cpu/kernel_avx2.o \
	src/parse/cpu/kernel_avx512.o \
	src/parse/cpu/kernel_neon.o \
	src/parse/cpu/kernel_sse2.o \
	src/parse/cpu/structure.o \
	src/parse/json/json_backend.o \
	src/parse/json/json_check.o \
	src/parse/json/json_convert.o \
	src/parse/json/json_dispatch.o \
	src/parse/json/json_document.o \
	src/parse/json/json_kernel_avx2.o \
	src/parse/json/json_kernel_avx512.o \
	src/parse/json/json_kernel_neon.o \
	src/parse/json/json_kernel_sse2.o \
	src/parse/json/json_path.o \
	src/parse/json/json_range.o \
	src/parse/json/json_shape.o

# join engine; knows nothing of PostgreSQL either
OBJS += \
	src/trie/box.o \
	src/trie/join.o \
	src/trie/join_blocks.o \
	src/trie/join_clique.o \
	src/trie/join_count.o \
	src/trie/join_level.o \
	src/trie/join_local.o \
	src/trie/join_order.o \
	src/trie/join_oriented.o \
	src/trie/join_parts.o \
	src/trie/join_plan.o \
	src/trie/join_rows.o \
	src/trie/join_run.o \
	src/trie/join_ways.o \
	src/trie/join_wedges.o \
	src/trie/trie_build.o \
	src/trie/trie_dict.o \
	src/trie/trie_kernel_avx2.o \
	src/trie/trie_kernel_avx512.o \
	src/trie/trie_kernel_neon.o \
	src/trie/trie_kernel_scalar.o \
	src/trie/trie_kernel_sse2.o \
	src/trie/trie_memory.o \
	src/trie/trie_threads.o

# in this order: sql/NAME.sql is run and compared to expected/NAME.out
REGRESS = \
	option csv types error on_error encoding scan explain filter aggregate parallel cuda ndjson json json_values parallel_json join cuda_join

# Objects depend on the headers they included, as the compiler lists them.
DEPS = $(OBJS:.o=.d)
EXTRA_CLEAN = $(DEPS)

PG_CFLAGS = -MMD -MP -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers

# Bitcode lets the server's JIT inline functions into expressions.  There is
# nothing to inline here, and making it takes clang: only if asked for by
# "make with_llvm=yes".
ifneq ($(origin with_llvm), command line)
override with_llvm = no
endif

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# The control file says which version this is.
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(srcdir)/$(EXTENSION).control)
src/module.o: override CPPFLAGS += -DPARPARAW_VERSION='"$(EXTVERSION)"'
src/module.o: $(EXTENSION).control

# Directories of objects are not there yet when building elsewhere.  A rule
# would not make them: VPATH finds those of the sources.
OBJDIRS := $(shell $(MKDIR_P) $(sort $(dir $(OBJS))))

-include $(DEPS)

# Device code is built by nvcc, and only if asked for: it takes minutes.
NVCC ?= $(shell command -v nvcc 2>/dev/null)
DEVICE_LIBRARY = parparaw_cuda.so
SIMT_LIBRARY = parparaw_cuda_simt.so
EXTRA_CLEAN += $(DEVICE_LIBRARY) $(SIMT_LIBRARY)

all: report-backends
.PHONY: report-backends cuda simt
report-backends:
ifeq ($(NVCC),)
	@echo "nvcc not found: building for the CPU only"
else
	@test -f $(DEVICE_LIBRARY) || echo "\"make cuda\" builds the device library"
endif

cuda:
	$(MAKE) -C $(srcdir)/cuda OUT='$(CURDIR)' $(if $(NVCC),NVCC='$(NVCC)')

simt:
	$(MAKE) -C $(srcdir)/test/simt lib OUT='$(CURDIR)'

install: install-cuda
uninstall: uninstall-cuda
.PHONY: install-cuda uninstall-cuda
install-cuda: installdirs
	@if test -f $(DEVICE_LIBRARY); then \
		echo "installing $(DEVICE_LIBRARY)"; \
		$(INSTALL_SHLIB) $(DEVICE_LIBRARY) '$(DESTDIR)$(pkglibdir)/$(DEVICE_LIBRARY)'; \
	fi
uninstall-cuda:
	rm -f '$(DESTDIR)$(pkglibdir)/$(DEVICE_LIBRARY)'
