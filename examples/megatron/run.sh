#!/usr/bin/env bash
# Which rank of a tensor-parallel job was late, from a trace of each: ./run.sh FOLDER_OF_TRACES [FOLDER]
shopt -s nullglob
files=("${1:-no folder}"/*.json "${1:-no folder}"/*.json.gz)
[ ${#files[@]} = 0 ] || mapfile -t files < <(realpath "${files[@]}")
. "$(dirname "${BASH_SOURCE[0]}")/../common/steps.sh"
needs tracegraph.cli
if [ ${#files[@]} = 0 ]; then
    echo "skipped: '${1:-}' holds no traces: give the folder of a job's traces, one a rank"
    exit 0
fi
open_folder "${2:-}"

ask report "${files[@]}" --run ranks --output "$out/report"
look ranks collectives last_to_arrive waited_for_ranks
