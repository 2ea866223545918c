#!/usr/bin/env bash
# ZeRO stage 2 against stage 3, by their collectives and their time: ./run.sh [FOLDER]
. "$(dirname "${BASH_SOURCE[0]}")/../common/steps.sh"
needs torch tracegraph.cli
if ! python3 -c "import deepspeed" 2>/dev/null; then
    echo "skipped: deepspeed is not in the current environment: pip install deepspeed"
    exit 0
fi
open_folder "${1:-}"

job deepspeed_zero.train --record "$out/stage2"
ask report "$out"/stage2/rank*.json.gz --run stage2
look stage2 collectives
predict stage2 "$out/predicted.json" --remove "name=gloo:*"

job deepspeed_zero.train --stage3 --record "$out/stage3"
ask ingest "$out"/stage3/rank*.json.gz --run stage3
look stage3 collectives
job deepspeed_zero.train --time 5 --output "$out/times.json"
compare "$out/predicted.json" "$out/times.json" stage3
