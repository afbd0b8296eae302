# shellcheck shell=bash
#
# scripts/common.sh
#	  What demo, test, test-majors and bench/scan share: packages, build, and a
#	  private server that vanishes with the script.
#
# It owns one temporary folder (PP_TMP) and the server inside it.  It must not
# change the machine beyond installing packages of the distribution, nor touch
# a server that was there before: the extension is installed into a private
# tree, nothing listens on TCP, the socket stands in a folder that only the
# server's user (and root) may enter, and installing the server's packages
# creates no cluster.
#
# To be sourced by bash.  pp_init comes first; then pp_setup, pp_start_server.
#
# Set by pp_init:
#	PP_ROOT		the checkout
#	PP_TMP		temporary folder, readable by everybody, removed at exit
#	PP_USER		operating system user the server runs as
# Set by pp_setup:
#	PG_CONFIG	(also taken from the environment) the server to build for
#	PP_BINDIR	folder of its programs, first in PATH
#	PP_TREE		root of the private tree it runs from
#	PP_SRC		where it is built and tested: the checkout, or a copy of it
#	PP_PYTHON	a Python that can speak to the server
# Read from the environment:
#	PP_COPT		further compiler flags for the extension, such as -Werror
#	PP_MAJOR	the major version of PostgreSQL to use, if PG_CONFIG is not set

OLDEST_MAJOR=14

PP_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PP_TMP=
PP_SRC=
PP_USER=
PP_BINDIR=
PP_TREE=
PP_PYTHON=
PP_SERVER_RUNS=
PP_CLUSTER_CONF=
PP_JOB=
PP_ASIDE=

pp_say()
{
	printf '%s\n' "$*"
}

pp_die()
{
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

# ---------------------------------------------------------------------------
# Start and end
# ---------------------------------------------------------------------------

# No input, messages in English, signals that clean up.
pp_init()
{
	exec </dev/null
	unset CDPATH MAKEFLAGS MAKELEVEL MFLAGS
	unset PGDATA PGHOST PGHOSTADDR PGPORT PGDATABASE PGUSER PGPASSWORD \
		PGPASSFILE PGSERVICE PGSERVICEFILE PGOPTIONS PGCLIENTENCODING \
		PGSSLMODE PGTZ PGDATESTYLE PGAPPNAME PSQLRC PGCLUSTER
	export LC_ALL=C
	umask 022
	trap pp_cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	if [ "$(id -u)" != 0 ]; then
		PP_USER=$(id -un)
	fi
	pp_make_tmp
}

# A socket's path may have about 100 bytes, the server's user has to get in,
# and programs have to run there: not every TMPDIR will do.
pp_make_tmp()
{
	local base

	for base in "${TMPDIR:-/tmp}" /tmp /var/tmp; do
		case $base in
			*[!A-Za-z0-9_./-]* | [!/]*) continue ;;
		esac
		if [ ${#base} -gt 60 ] || ! pp_open_to_all "$base" || [ ! -w "$base" ]; then
			continue
		fi
		PP_TMP=$(mktemp -d "$base/parparaw.XXXXXX")
		chmod 755 "$PP_TMP"
		printf '#!/bin/sh\n' >"$PP_TMP/try"
		chmod 755 "$PP_TMP/try"
		if "$PP_TMP/try" 2>/dev/null; then
			return
		fi
		rm -rf "$PP_TMP"
		PP_TMP=
	done
	pp_die "neither TMPDIR nor /tmp nor /var/tmp is a folder that all may enter and programs may run in"
}

# May every user enter this folder?
pp_open_to_all()
{
	local dir=$1

	while [ "$dir" != / ] && [ "$dir" != . ]; do
		case $(stat -L -c %A "$dir" 2>/dev/null) in
			*x | *t) ;;
			*) return 1 ;;
		esac
		dir=$(dirname "$dir")
	done
}

pp_cleanup()
{
	local rc=$?
	local job

	trap - EXIT
	trap '' HUP INT TERM
	set +e
	for job in $PP_JOB $PP_ASIDE; do
		kill -- "-$job" 2>/dev/null
		wait "$job" 2>/dev/null
	done
	pp_restore_cluster_conf
	pp_stop_server
	if [ -n "$PP_TMP" ]; then
		cd / && rm -rf "$PP_TMP"
	fi
	exit "$rc"
}

#
# pp_aside LOG COMMAND...
#
# Starts a command that works beside what follows, giving way to it, as a
# process group of its own that pp_cleanup ends as a whole; its output goes to
# a file only.  pp_aside_wait waits for it, and answers its status.
#
pp_aside()
{
	local log=$1

	shift
	set -m
	{
		set +em
		trap - EXIT HUP INT TERM
		renice -n 5 -p "$BASHPID" >/dev/null 2>&1
		"$@"
	} >"$log" 2>&1 &
	PP_ASIDE=$!
	set +m
}

pp_aside_wait()
{
	local status=0

	wait "$PP_ASIDE" || status=$?
	PP_ASIDE=
	return "$status"
}

# pp_run LOG COMMAND...
#
# Runs a command, its output also going to a file, as a process group of its
# own that pp_cleanup ends as a whole.  Unlike with a command in the
# foreground, a signal to the script is acted on at once.
#
pp_run()
{
	local log=$1
	local status=0

	shift
	set -m
	{
		set +e
		"$@" 2>&1 | tee "$log"
		exit "${PIPESTATUS[0]}"
	} &
	PP_JOB=$!
	set +m
	wait "$PP_JOB" || status=$?
	PP_JOB=
	return $status
}

pp_as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		pp_die "this needs root, and there is no sudo: $*"
	fi
}

# The server refuses to run as root; everything else is done as oneself.
pp_as_server()
{
	(
		cd /
		if [ "$(id -u)" = 0 ]; then
			exec runuser -u "$PP_USER" -- env HOME="$PP_TMP" "$@"
		fi
		exec "$@"
	)
}

# ---------------------------------------------------------------------------
# Packages
# ---------------------------------------------------------------------------

# Is all there to build for, and to run, the server of this pg_config?
pp_complete_server()
{
	local config=$1

	[ -x "$config" ] &&
		[ "$("$config" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')" -ge "$OLDEST_MAJOR" ] &&
		[ -x "$("$config" --bindir)/initdb" ] &&
		[ -f "$("$config" --includedir-server)/postgres.h" ] &&
		[ -f "$("$config" --pgxs)" ] &&
		[ -x "$(dirname "$("$config" --pgxs)")/../../src/test/regress/pg_regress" ] &&
		[ -f "$("$config" --sharedir)/extension/file_fdw.control" ]
}

# Sets PG_CONFIG to the newest usable server on this machine (of the version
# PP_MAJOR if that is set), if there is one.
pp_find_server()
{
	local config

	if [ -n "${PP_MAJOR:-}" ]; then
		config=/usr/lib/postgresql/$PP_MAJOR/bin/pg_config
		pp_complete_server "$config" || return 1
		PG_CONFIG=$config
		return 0
	fi
	while read -r config; do
		if pp_complete_server "$config"; then
			PG_CONFIG=$config
			return 0
		fi
	done < <(find /usr/lib/postgresql/*/bin -name pg_config 2>/dev/null | sort -rV
			 command -v pg_config || true)
	return 1
}

# Sets PP_PYTHON to a Python 3, one with the driver if there is any.
pp_find_python()
{
	local python

	PP_PYTHON=
	for python in python3 /usr/bin/python3; do
		if "$python" -c 'import psycopg2' 2>/dev/null; then
			PP_PYTHON=$(command -v "$python")
			return 0
		fi
	done
	PP_PYTHON=$(command -v python3)
	return 1
}

# Names of the packages that are missing; "server" stands for the
# distribution's server.  $1: demo or test.
pp_missing()
{
	[ -n "${PG_CONFIG:-}" ] || echo server
	command -v gcc >/dev/null || echo gcc
	command -v make >/dev/null || echo make
	command -v python3 >/dev/null || echo python3
	case $1 in
		demo)
			[ -r /usr/share/distro-info/debian.csv ] || echo distro-info-data
			[ -r /usr/share/unicode/UnicodeData.txt ] || echo unicode-data
			;;
		test)
			command -v g++ >/dev/null || echo g++
			pp_find_python || echo python3-psycopg2
			;;
	esac
}

# A server package that is new on a machine starts a cluster "main" on the
# usual port.  Nobody asked for one, so that is switched off while we install;
# a cluster that exists stays as it is.
pp_forbid_cluster()
{
	local dir=/etc/postgresql-common/createcluster.d

	if [ ! -e $dir/parparaw_fdw.conf ]; then
		PP_CLUSTER_CONF=$dir/parparaw_fdw.conf
		pp_as_root mkdir -p "$dir"
		echo 'create_main_cluster = false' |
			pp_as_root tee "$PP_CLUSTER_CONF" >/dev/null
	fi
}

pp_restore_cluster_conf()
{
	if [ -n "$PP_CLUSTER_CONF" ]; then
		pp_as_root rm -f "$PP_CLUSTER_CONF"
		pp_as_root rmdir --ignore-fail-on-non-empty "$(dirname "$PP_CLUSTER_CONF")"
		PP_CLUSTER_CONF=
	fi
}

pp_apt()
{
	pp_as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
		apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \
		-o Dpkg::Options::=--force-confold "$@" >>"$PP_TMP/apt.log" 2>&1 || {
		tail -n 30 "$PP_TMP/apt.log" >&2
		pp_die "apt-get $1 failed (see above)"
	}
}

# Installs what is missing, and asks for nothing if nothing is.
pp_install_packages()
{
	local missing major

	if [ -n "${PG_CONFIG:-}" ]; then
		command -v "$PG_CONFIG" >/dev/null || pp_die "PG_CONFIG=$PG_CONFIG: there is no such program"
		PG_CONFIG=$(realpath "$(command -v "$PG_CONFIG")")
		pp_complete_server "$PG_CONFIG" ||
			pp_die "PG_CONFIG=$PG_CONFIG: the server, its headers, pg_regress or file_fdw is not there"
	else
		pp_find_server || true
	fi
	missing=$(pp_missing "$1" | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	command -v apt-get >/dev/null ||
		pp_die "missing: ${missing}(and there is no apt-get to install it with)"

	pp_say "Missing, to be installed as Debian packages: $missing"
	pp_apt update
	case " $missing" in
		*" server "*)
			major=${PP_MAJOR:-$(apt-cache show postgresql 2>/dev/null |
				sed -n 's/^Depends:.*postgresql-\([0-9][0-9]*\).*/\1/p' | head -n 1)}
			[ -n "$major" ] || pp_die "apt knows no package postgresql"
			[ "$major" -ge "$OLDEST_MAJOR" ] ||
				pp_die "this distribution has PostgreSQL $major; $OLDEST_MAJOR or later is needed"
			missing="${missing/server /} postgresql-$major postgresql-server-dev-$major"
			;;
	esac
	pp_forbid_cluster
	# shellcheck disable=SC2086 # a list of names
	pp_apt install --no-install-recommends $missing
	pp_restore_cluster_conf
	[ -n "${PG_CONFIG:-}" ] || pp_find_server ||
		pp_die "no usable PostgreSQL server even after installing its packages"
	missing=$(pp_missing "$1" | tr '\n' ' ')
	[ -z "$missing" ] || pp_die "still missing after installation: $missing"
}

# Can programs for 64-bit ARM be built, static ones, and run?
pp_can_cross_compile()
{
	command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null &&
		echo 'int main(void) { return 0; }' |
		aarch64-linux-gnu-gcc -static -x c -o "$PP_TMP/cross" - 2>/dev/null &&
		qemu-aarch64 "$PP_TMP/cross"
}

# ---------------------------------------------------------------------------
# Build
# ---------------------------------------------------------------------------

# Copies the checkout without its history and what was built into a folder.
pp_copy_source()
{
	tar -C "$PP_ROOT" --exclude=./.git --exclude='*.o' --exclude='*.d' \
		--exclude='*.so' --exclude='*.bc' --exclude=./.build-stamp --exclude=build -cf - . |
		tar -C "$1" --no-same-owner -xf -
	chmod -R u+w,go=rX "$1"
}

# Finds or makes the folder to build in.  The checkout itself will do if we
# may write there, the server's user may read there (tests name files in it),
# and its path is one that make can handle; else a copy is used.
pp_choose_source()
{
	case $PP_ROOT in
		*[!A-Za-z0-9_./+-]*) ;;
		*)
			if [ -w "$PP_ROOT" ] && pp_as_server test -r "$PP_ROOT/Makefile" &&
				pp_as_server test -r "$PP_ROOT/sql"; then
				PP_SRC=$PP_ROOT
				return
			fi
			;;
	esac
	PP_SRC=$PP_TMP/src
	mkdir "$PP_SRC"
	pp_copy_source "$PP_SRC"
}

pp_make()
{
	make -C "$PP_SRC" --no-print-directory PG_CONFIG="$PG_CONFIG" with_llvm=no \
		${PP_COPT:+COPT="$PP_COPT"} "$@"
}

# Builds, silently unless there is something to see.
pp_build()
{
	local stamp
	local log=$PP_TMP/build.log

	# Objects of another server or other flags are of no use.
	stamp="$("$PG_CONFIG" --version) $PG_CONFIG ${PP_COPT:-}"
	if [ "$(cat "$PP_SRC/.build-stamp" 2>/dev/null)" != "$stamp" ]; then
		# a device library is of any server
		pp_make clean EXTRA_CLEAN='$(DEPS)' >"$log" 2>&1 || true
		printf '%s\n' "$stamp" >"$PP_SRC/.build-stamp"
	fi
	if ! pp_make -j "$(nproc)" >"$log" 2>&1; then
		cat "$log" >&2
		pp_die "the build failed (see above)"
	fi
	grep -E -A 5 'warning:' "$log" || true
}

#
# PostgreSQL finds its libraries and data relative to its own program.  So a
# copy of that program, with links to everything else beside it, is a server
# with extensions of its own, and nothing needs to be installed for real.
#
pp_make_tree()
{
	local lib share
	local log=$PP_TMP/install.log

	lib=$("$PG_CONFIG" --pkglibdir)
	share=$("$PG_CONFIG" --sharedir)
	PP_TREE=$PP_TMP/postgres
	mkdir -p "$PP_TREE$PP_BINDIR" "$PP_TREE$lib" "$PP_TREE$share/extension"
	cp "$PP_BINDIR/postgres" "$PP_BINDIR/initdb" "$PP_BINDIR/pg_ctl" "$PP_TREE$PP_BINDIR"
	find "$lib" -mindepth 1 -maxdepth 1 -exec ln -s -t "$PP_TREE$lib" {} +
	find "$share" -mindepth 1 -maxdepth 1 ! -name extension -exec ln -s -t "$PP_TREE$share" {} +
	find "$share/extension" -mindepth 1 -maxdepth 1 -exec ln -s -t "$PP_TREE$share/extension" {} +
	rm -f "$PP_TREE$lib"/parparaw_fdw.so "$PP_TREE$share"/extension/parparaw_fdw*
	pp_make install DESTDIR="$PP_TREE" >"$log" 2>&1 || {
		cat "$log" >&2
		pp_die "make install failed (see above)"
	}
}

# $1: demo or test.
pp_setup()
{
	local user

	pp_install_packages "$1"
	pp_find_python || true
	PP_BINDIR=$("$PG_CONFIG" --bindir)
	export PG_CONFIG PP_PYTHON PATH="$PP_BINDIR:$PATH"

	if [ -z "$PP_USER" ]; then
		for user in postgres nobody; do
			if id "$user" >/dev/null 2>&1; then
				PP_USER=$user
				break
			fi
		done
		[ -n "$PP_USER" ] || pp_die "the server cannot run as root, and there is no user postgres or nobody"
	fi
	pp_choose_source
	pp_build
	pp_make_tree
}

# ---------------------------------------------------------------------------
# Server
# ---------------------------------------------------------------------------

# Starts a server of our own and points the PG* variables at it.  Arguments
# are further lines for its configuration.
# shellcheck disable=SC2120 # most callers have none
pp_start_server()
{
	local home=$PP_TMP/server

	if [ ! -d "$home" ]; then
		mkdir -m 700 "$home"
		[ "$(id -u)" != 0 ] || chown "$PP_USER" "$home"
		pp_as_server "$PP_TREE$PP_BINDIR/initdb" -D "$home/data" -U postgres -A trust \
			-E UTF8 --locale=C --no-sync >"$PP_TMP/initdb.log" 2>&1 || {
			cat "$PP_TMP/initdb.log" >&2
			pp_die "initdb failed (see above)"
		}
		export PGHOST=$home PGPORT=$((20000 + RANDOM % 40000)) PGUSER=postgres \
			PGDATABASE=postgres
		{
			echo "listen_addresses = ''"
			echo "unix_socket_directories = '$PGHOST'"
			echo "port = $PGPORT"
			echo "fsync = off"
			echo "synchronous_commit = off"
			echo "full_page_writes = off"
			echo "jit = off"
			echo "lc_messages = 'C'"
			[ $# = 0 ] || printf '%s\n' "$@"
		} >"$PP_TMP/server.conf"
		# shellcheck disable=SC2016 # expanded by the inner shell
		pp_as_server sh -c 'cat >>"$1"' sh "$home/data/postgresql.conf" \
			<"$PP_TMP/server.conf"
	fi
	pp_as_server "$PP_TREE$PP_BINDIR/pg_ctl" -D "$home/data" -l "$home/log" -w -t 60 \
		start >"$PP_TMP/pg_ctl.log" 2>&1 || {
		cat "$PP_TMP/pg_ctl.log" "$home/log" >&2
		pp_die "the private server does not start (see above)"
	}
	PP_SERVER_RUNS=1
	[ "$(pp_psql -A -t -c "SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR'")" = "$PP_TREE$("$PG_CONFIG" --pkglibdir)" ] ||
		pp_die "this server does not find its libraries relative to its program"
}

pp_stop_server()
{
	local how

	[ -n "$PP_SERVER_RUNS" ] || return 0
	for how in fast immediate; do
		if pp_as_server "$PP_TREE$PP_BINDIR/pg_ctl" -D "$PP_TMP/server/data" -m $how \
			-w -t 20 stop >/dev/null 2>&1; then
			break
		fi
	done
	PP_SERVER_RUNS=
}

pp_server_log()
{
	echo "$PP_TMP/server/log"
}

# psql on the private server: quiet, no start-up file, stops at an error.
pp_psql()
{
	"$PP_BINDIR/psql" -X -q -v ON_ERROR_STOP=1 "$@"
}

# ---------------------------------------------------------------------------
# Measuring
# ---------------------------------------------------------------------------

# The middle one of the numbers on standard input, one a line.
pp_median()
{
	sort -n | awk '{ v[NR] = $1 }
		END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

#
# pp_compare NAME FILE N FIRST SECOND
#
# Runs the one query in FILE N times with each of two schemas first in the
# search path, in alternation and in one session, and measures as psql's
# \timing does.  The answers, as psql prints them, are left in
# $PP_TMP/NAME.SCHEMA.ROUND and the milliseconds in $PP_TMP/NAME.SCHEMA.ms.
# Planning each once beforehand keeps loading of libraries and of catalogs out.
# With PP_EXPANDED=on answers are printed one column a line.
#
pp_compare()
{
	local name=$1 file=$2 rounds=$3
	local schemas=("$4" "$5")
	local schema round
	local script=$PP_TMP/$name.psql

	{
		echo '\pset footer off'
		echo "\\pset expanded ${PP_EXPANDED:-off}"
		echo '\o /dev/null'
		for schema in "${schemas[@]}"; do
			echo "SET search_path = $schema;"
			echo 'EXPLAIN'
			cat "$file"
			echo ';'
		done
		for ((round = 1; round <= rounds; round++)); do
			for schema in "${schemas[@]}"; do
				printf '\\o %s\n' "$PP_TMP/$name.$schema.$round"
				echo "SET search_path = $schema;"
				printf '%s\n' '\timing on'
				cat "$file"
				echo ';'
				printf '%s\n' '\timing off'
			done
		done
	} >"$script"
	pp_psql -f "$script" >"$PP_TMP/$name.times" || return 1
	sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' "$PP_TMP/$name.times" |
		awk -v first="$PP_TMP/$name.$4.ms" -v second="$PP_TMP/$name.$5.ms" '
			BEGIN { printf "" > first; printf "" > second }
			NR % 2 { print > first; next } { print > second }'
}

# Are all answers of a comparison the same?
pp_same_answers()
{
	local name=$1 rounds=$2 first=$3 second=$4
	local round

	for ((round = 1; round <= rounds; round++)); do
		cmp -s "$PP_TMP/$name.$first.1" "$PP_TMP/$name.$first.$round" &&
			cmp -s "$PP_TMP/$name.$first.1" "$PP_TMP/$name.$second.$round" ||
			return 1
	done
}
