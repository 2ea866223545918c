#!/usr/bin/env bash
# From a trace file to a report: ./report.sh [TRACE [FOLDER]], by default the example trace and ./report.
set -euo pipefail

trace=${1:-$(dirname "$0")/traces/simulated_gpu.json.gz}
folder=${2:-report}

tracegraph db start
trap 'tracegraph db stop' EXIT

# The run's name comes from the file's content: a name of one's own belongs to the first file stored under it.
stored=$(tracegraph ingest "$trace")
echo "$stored"
run=$(sed -n 's/^run //p' <<<"$stored")
tracegraph query hotspots --run "$run" -p limit=5
tracegraph query path_composition --run "$run"
tracegraph report --run "$run" --output "$folder"
