#!/usr/bin/env bash
# What larger buckets and gradient accumulation gain, predicted and measured: ./run.sh [FOLDER]
. "$(dirname "${BASH_SOURCE[0]}")/../common/steps.sh"
needs torch tracegraph.cli
open_folder "${1:-}"

job ddp_communication.train --record "$out/before"
ask report "$out"/before/rank*.json.gz --run before
predict before "$out/free.json" --remove "name=gloo:all_reduce"
predict before "$out/once.json" --coalesce "name=gloo:all_reduce"
predict before "$out/quarter.json" --scale 0.25 "name=gloo:all_reduce" \
    --scale 0.25 "under=c10d::allreduce_" --scale 0.25 "name=aten::mul"

job ddp_communication.train --large --record "$out/large"
ask ingest "$out"/large/rank*.json.gz --run large
job ddp_communication.train --accumulate --record "$out/accumulate"
ask ingest "$out"/accumulate/rank*.json.gz --run accumulate
for run in before large accumulate; do
    look "$run" collectives
    inside "$run" gloo:
done

job ddp_communication.train --time 5 --output "$out/times.json"
compare "$out/free.json" "$out/times.json" large
compare "$out/once.json" "$out/times.json" large
compare "$out/quarter.json" "$out/times.json" accumulate
