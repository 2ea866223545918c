#!/usr/bin/env bash
# What a vectorised loop and a later readback gain, predicted and measured: ./run.sh [FOLDER]
. "$(dirname "${BASH_SOURCE[0]}")/../common/steps.sh"
needs torch tracegraph.cli
open_folder "${1:-}"

single() { # options of the loop
    say "python -m host_loop.train $*"
    python3 -m host_loop.train "$@"
}

single --record "$out/before"
ask report "$out/before/trace.json.gz" --run before
predict before "$out/vectorised.json" --compile "name=statistics"
predict before "$out/later.json" --remove-wait "waiting for another thread" ||
    echo "No wait was found: a busy machine wakes the loop too late, see README.md"

single --time 11 --output "$out/times.json"
compare "$out/vectorised.json" "$out/times.json" vectorised
if [ -s "$out/later.json" ]; then
    compare "$out/later.json" "$out/times.json" later
fi
