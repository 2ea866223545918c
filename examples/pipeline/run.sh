#!/usr/bin/env bash
# What the bubble of a pipeline is, beside that of its schedule: ./run.sh [FOLDER]
. "$(dirname "${BASH_SOURCE[0]}")/../common/steps.sh"
needs torch tracegraph.cli
open_folder "${1:-}"
ranks=4

for schedule in 1f1b gpipe uneven; do
    option=()
    [ "$schedule" = 1f1b ] || option=("--$schedule")
    job pipeline.train "${option[@]}" --record "$out/$schedule"
    ask ingest "$out/$schedule" --run "$schedule"
    ask query pipeline --run "$schedule" -p micro_batches=8
    tracegraph query pipeline --run "$schedule" -p micro_batches=8 --format json >"$out/$schedule.json"
    say "python -m pipeline.own_bubble $out/${schedule}_own $out/$schedule.json"
    python3 -m pipeline.own_bubble "$out/${schedule}_own" "$out/$schedule.json"
done
