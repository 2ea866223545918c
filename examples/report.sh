#!/usr/bin/env bash
# From a trace file to a report: ./report.sh [TRACE [FOLDER]], by default the example trace and ./report.
set -euo pipefail

trace=${1:-$(dirname "$0")/traces/simulated_gpu.json.gz}
folder=${2:-report}
run=example

tracegraph db start
trap 'tracegraph db stop' EXIT

tracegraph ingest --run "$run" "$trace"
tracegraph query hotspots --run "$run" -p limit=5
tracegraph query path_composition --run "$run"
tracegraph report --run "$run" --output "$folder"
