# Sourced by each run.sh: checks what is installed, and says every command before it runs.
# All traces, times and stored runs go into one folder: the argument of run.sh, else a temporary one.
set -euo pipefail
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=${GLOO_SOCKET_IFNAME:-lo} COLUMNS=${COLUMNS:-110}
export TORCH_CPP_LOG_LEVEL=${TORCH_CPP_LOG_LEVEL:-FATAL} KINETO_LOG_LEVEL=${KINETO_LOG_LEVEL:-99}

needs() { # modules...: ends where one of them cannot be imported
    for module in "$@"; do
        python3 -c "import $module" 2>/dev/null && continue
        echo "This example needs $module in the current environment: pip install '$project[examples]'" >&2
        exit 2
    done
}

say() { printf '\n$ %s\n' "$*"; }

open_folder() { # folder: where everything goes, with a workspace of its own for tracegraph
    out=${1:-$(mktemp -d)}
    mkdir -p "$out"
    out=$(cd "$out" && pwd)
    cd "$examples"
    export TRACEGRAPH_WORKSPACE=$out/workspace
    trap 'tracegraph --quiet db stop >/dev/null 2>&1 || true' EXIT
    echo "Everything goes into $out"
}

job() { # module, options...: two ranks of it on this machine, or as many as `ranks` says
    say "torchrun --standalone --nproc-per-node ${ranks:-2} -m $*"
    python3 -m torch.distributed.run --standalone --nproc-per-node "${ranks:-2}" -m "$@"
}

ask() { # a command of tracegraph
    say "tracegraph $*"
    tracegraph "$@"
}

predict() { # RUN FILE, options of what-if: what it says, and the same as JSON in FILE
    local run=$1 file=$2
    shift 2
    ask what-if --run "$run" "$@"
    tracegraph what-if --run "$run" "$@" --format json >"$file"
}

look() { # RUN NAME...: the questions of common/cypher
    local run=$1 name
    for name in "${@:2}"; do
        say "tracegraph cypher --run $run \"\$(cat common/cypher/$name.cypher)\""
        tracegraph cypher --run "$run" "$(cat "$examples/common/cypher/$name.cypher")"
    done
}

inside() { # RUN NAME: how much of the critical path runs inside what begins so
    say "tracegraph query path_inside --run $1 --format csv | grep -E '^(name,|$2)'"
    tracegraph query path_inside --run "$1" --format csv | grep -E "^(name,|$2)"
}

compare() { # PREDICTED TIMES VARIANT
    say "python -m common.compare $*"
    python3 -m common.compare "$@"
}

examples=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
project=$(dirname "$examples")
