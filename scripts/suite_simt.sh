# shellcheck shell=bash
#
# scripts/suite_simt.sh
#	  The suite "simt" of scripts/test, which sources this: everything through
#	  SQL with the cuda backend, on the host SIMT layer in a device's place.
#
# The layer executes kernels thread by thread, so the parts are small ones of
# those that the CPU backend runs.  Each has to give what that one gives.  Both
# pipelines run them, the one that is not the default less of them; so do all
# algorithms that join.

# Settings of the server as long as the suite runs: NAME=VALUE...
simt_configure()
{
	local pair
	local statements=()

	for pair in "$@"; do
		statements+=(-c "ALTER SYSTEM SET parparaw.${pair%%=*} = '${pair#*=}'")
	done
	pp_psql -c "LOAD 'parparaw_fdw'" "${statements[@]}" -c 'SELECT pg_reload_conf()' -o /dev/null
}

# Sets SIMT_COUNT to "PASSED FAILED" as the last line of a part's output says.
simt_count()
{
	if [[ ${1##*$'\n'} =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
		simt_passed=$((simt_passed + BASH_REMATCH[1]))
		simt_failed=$((simt_failed + BASH_REMATCH[2]))
	else
		echo "gave no result"
		simt_failed=$((simt_failed + 1))
	fi
}

# simt_runs DATABASE QUERY PIPELINE: does a scan run on the layer, that way, under
# the settings that are in force?
simt_runs()
{
	local plan
	local stage=parse

	if [ "$3" = paper ]; then
		stage=vectors
	fi
	plan=$(pp_psql -A -t -d "$1" -c "$2" 2>&1) || true
	if grep -q "Backend: cuda ($3)" <<<"$plan" && grep -q 'Device: host SIMT' <<<"$plan" &&
		grep -q "Device Launches: h2d=.* $stage=[1-9]" <<<"$plan"; then
		simt_passed=$((simt_passed + 1))
	else
		echo "the query did not run on the layer: $plan"
		simt_failed=$((simt_failed + 1))
	fi
}

# Regression tests whose expected output must be met.
simt_regression()
{
	local out=$PP_TMP/regression.simt

	rm -rf "$out"
	mkdir -p "$out"
	pp_make installcheck REGRESS="$*" EXTRA_REGRESS_OPTS="--outputdir=$out" >"$out/log" 2>&1 || true
	if [ -s "$out/regression.diffs" ]; then
		cat "$out/regression.diffs"
	fi
	awk '/ \.\.\. +ok( |$)/ || /^ok [0-9]+ / { p++ }
		/ \.\.\. +FAILED/ || /^not ok [0-9]+ / { f++ }
		END {
			if (!p && !f)
				f = 1
			print p + 0 " passed, " f + 0 " failed"
		}' "$out/log"
}

# simt_cases PIPELINE NAME=VALUE...
simt_cases()
{
	local dir=${PP_CASES:-$PP_ROOT/../shared/cases}
	local pipeline=$1
	local formats=csv
	local pair out
	local options=()

	shift
	if [ "$pipeline" = fused ]; then
		formats=csv,ndjson,json
	fi

	if [ ! -e "$dir/run_cases" ]; then
		echo "there is no $dir/run_cases" >&2
		echo "0 passed, 0 failed"
		return
	fi
	for pair in "$@"; do
		options+=(--set "parparaw.${pair%%=*} = '${pair#*=}'")
	done
	out=$(PGDATABASE=simt "$PP_PYTHON" "$dir/run_cases" --formats "$formats" --tmp "$TMPDIR" \
		--node "Backend: cuda ($pipeline)" "${options[@]}" 2>&1) || true
	printf '%s\n' "$out" | grep -v 'queries skipped$'
	if ! grep -q '^[1-9][0-9]* plans show' <<<"$out"; then
		echo "no plan shows the backend"
		echo "0 passed, 1 failed"
	fi
}

# simt_parts PIPELINE PART...: commands with their arguments, the device parsing that way
simt_parts()
{
	local pipeline=$1
	local part out

	shift
	simt_configure "cuda_pipeline=$pipeline"
	simt_runs simt "EXPLAIN (ANALYZE, COSTS OFF) SELECT count(*), sum(a) FROM simt_t" "$pipeline"
	for part in "$@"; do
		printf -- '-- %s: %s\n' "$pipeline" "$part"
		# shellcheck disable=SC2086 # a command and its arguments
		out=$($part) || true
		printf '%s\n' "$out"
		simt_count "$out"
	done
}

# simt_joins LIBRARY: cyclic joins, by each of the device's algorithms.
simt_joins()
{
	local graphs=${PP_GRAPHS:-$PP_ROOT/../shared/graphs}
	local part out

	# each part sets the backend of its sessions, and has others without a device
	simt_configure backend=cpu
	for part in "corpus" "differential --cases $((${PP_SIMT_CASES:-400} / 4))" \
		"graphs --folder $graphs" "faults"; do
		printf -- '-- joins: %s\n' "$part"
		# shellcheck disable=SC2086 # a program and its arguments
		out=$(python_suite joins/$part --simt "$1") || true
		printf '%s\n' "$out"
		simt_count "$out"
	done
	simt_configure backend=cuda
}

suite_simt()
{
	local library=$PP_SRC/parparaw_cuda_simt.so
	local log=$PP_TMP/simt-build.log
	local setting

	# the suite "layer" may be building in its own folder at the same time
	if ! pp_make simt BUILD="$PP_SRC/test/simt/build/sql" >"$log" 2>&1; then
		if grep -q -i 'missing\|not found' "$log"; then
			echo "skipped: $(grep -i -m 1 'missing\|not found' "$log")"
			return
		fi
		cat "$log"
		return 1
	fi
	grep -E -A 5 'warning:' "$log" || true

	simt_passed=0
	simt_failed=0
	simt_configure "cuda_library=$library" backend=cuda cuda_max_backends=64
	pp_psql -c 'DROP DATABASE IF EXISTS simt' -c 'CREATE DATABASE simt'
	seq 1000 >"$TMPDIR/simt.csv"
	chmod 644 "$TMPDIR/simt.csv"
	pp_psql -d simt -c 'CREATE EXTENSION parparaw_fdw' \
		-c "CREATE FOREIGN TABLE simt_t (a int) SERVER gpu_csv OPTIONS (filename '$TMPDIR/simt.csv')"

	simt_parts fused \
		"simt_regression option csv types error on_error encoding scan filter ndjson json json_values" \
		"simt_cases fused" \
		"simt_cases fused cuda_partition_size=64B" \
		"simt_cases fused cuda_partition_size=1kB" \
		"python_suite differential/run --cases ${PP_SIMT_CASES:-400}" \
		"python_suite differential/json_lines --cases $((${PP_SIMT_CASES:-400} / 4))" \
		"python_suite faults/run --simt $library --pipeline fused"
	simt_parts paper \
		"simt_regression csv types error filter" \
		"simt_cases paper cuda_partition_size=64B cuda_tagging=record chunk_size=7" \
		"python_suite differential/run --cases $((${PP_SIMT_CASES:-400} / 4))" \
		"python_suite faults/run --simt $library --pipeline paper"

	simt_joins "$library"

	# plans show as those of the CPU, and workers of parallel ones are on it
	simt_configure backend=auto cuda_probe= cuda_min_file_size=0
	simt_parts fused "simt_regression aggregate"

	pp_psql -c 'DROP DATABASE simt'
	for setting in cuda_library backend cuda_max_backends cuda_probe cuda_min_file_size cuda_pipeline; do
		pp_psql -c "LOAD 'parparaw_fdw'" -c "ALTER SYSTEM RESET parparaw.$setting"
	done
	pp_psql -c 'SELECT pg_reload_conf()' -o /dev/null
	echo "$simt_passed passed, $simt_failed failed"
}
