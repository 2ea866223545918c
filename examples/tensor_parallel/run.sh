#!/usr/bin/env bash
# What share of each layer is communication, and what of that is waiting for a late rank: ./run.sh [FOLDER]
. "$(dirname "${BASH_SOURCE[0]}")/../common/steps.sh"
needs torch tracegraph.cli
open_folder "${1:-}"

beside_own() { # RUN: what the query says of each layer beside what the job measured itself
    say "tracegraph query layer_communication --run $1 --format json >$out/$1.json"
    tracegraph query layer_communication --run "$1" --format json >"$out/$1.json"
    say "python -m tensor_parallel.own_shares $out/$1_own $out/$1.json"
    python3 -m tensor_parallel.own_shares "$out/$1_own" "$out/$1.json"
}

job tensor_parallel.train --record "$out/before"
ask report "$out"/before/rank*.json.gz --run before
beside_own before
predict before "$out/predicted.json" --no-stragglers

job tensor_parallel.train --balanced --record "$out/balanced"
ask ingest "$out"/balanced/rank*.json.gz --run balanced
beside_own balanced
job tensor_parallel.train --time 5 --output "$out/times.json"
compare "$out/predicted.json" "$out/times.json" balanced
