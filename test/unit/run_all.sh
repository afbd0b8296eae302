#!/bin/sh
# test/unit/run_all.sh PERCENT SEED FOLDER PROGRAM...
#	Runs unit test programs one after another and prints their summaries.
#	Fails if one fails, crashes, or ends without a line "NAME: N passed, N failed".
#	EMULATOR: a command that runs them, if this machine cannot.
percent=$1
seed=$2
folder=$3
shift 3
bad=0
for program in "$@"
do
	output=$folder/$program.out
	case $program in
		convert_*)
			# these have options of their own, if any
			${EMULATOR:-} "$folder/$program" >"$output" 2>&1 ;;
		*)
			${EMULATOR:-} "$folder/$program" -n "$percent" ${seed:+-s "$seed"} >"$output" 2>&1 ;;
	esac
	status=$?
	last=$(tail -n 1 "$output")
	if [ $status -eq 0 ] && printf '%s\n' "$last" | grep -Eq '^[^ ]+: [0-9]+ passed, 0 failed$'
	then
		printf '%s\n' "$last"
		continue
	fi
	bad=1
	tail -n 60 "$output"
	printf '%s\n' "$last" | grep -Eq '^[^ ]+: [0-9]+ passed, [0-9]+ failed$' ||
	{
		echo "$program ended with status $status and without a summary"
		echo "$program: 0 passed, 1 failed"
	}
done
exit $bad
