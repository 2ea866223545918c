#!/usr/bin/env bash
# What the collectives of FSDP look like, and what gathering the parameters once gains: ./run.sh [FOLDER]
. "$(dirname "${BASH_SOURCE[0]}")/../common/steps.sh"
needs torch tracegraph.cli
open_folder "${1:-}"

job fsdp.train --record "$out/before"
ask report "$out"/before/rank*.json.gz --run before
look before collectives
predict before "$out/predicted.json" --scale 0.56 "name=gloo:all_gather" --remove "under=FSDP::backward_prefetch*"

job fsdp.train --keep --record "$out/keep"
ask ingest "$out"/keep/rank*.json.gz --run keep
look keep collectives
job fsdp.train --time 5 --output "$out/times.json"
compare "$out/predicted.json" "$out/times.json" keep
