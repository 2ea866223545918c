#!/usr/bin/env bash
# From two ranks of which one is late to a fix whose gain was predicted: ./run.sh [FOLDER]
. "$(dirname "${BASH_SOURCE[0]}")/../common/steps.sh"
needs torch tracegraph.cli
open_folder "${1:-}"

job ddp_straggler.train --record "$out/before"
ask report "$out"/before/rank*.json.gz --run before --output "$out/report"
look before last_to_arrive waited_for_ranks
inside before 'decode '
ask what-if --run before --no-stragglers
predict before "$out/predicted.json" --remove "under=decode text"

job ddp_straggler.train --converted --record "$out/converted"
ask report "$out"/converted/rank*.json.gz --run converted
job ddp_straggler.train --time 5 --output "$out/times.json"
compare "$out/predicted.json" "$out/times.json" converted
