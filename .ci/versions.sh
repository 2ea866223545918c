#!/usr/bin/env bash
# Each version of Python that pyproject.toml promises and this machine has: `versions.sh` installs the built wheel
# into an environment of its own, reports on an example, and runs unit tests: a third of them with the oldest version,
# whose libraries differ most, a sixth with each other one, and with the next commit the next part. The version that runs
# everything else (python3) is left out.
# What a version said is in a file of its own; the last lines say how each ended.
set -uo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d "${TMPDIR:-/tmp}/tracegraph-versions.XXXXXX")

promised() { sed -n 's/.*"Programming Language :: Python :: \(3\.[0-9]*\)".*/\1/p' pyproject.toml; }

find_python() {  # on PATH, else among those of pyenv; a shim of pyenv may lead nowhere
    local found
    for found in "$(command -v "python$1")" "$(pyenv root 2>/dev/null)/versions/$1".*/bin/python3 \
        "$HOME/.pyenv/versions/$1".*/bin/python3; do
        if [ -x "$found" ] && [ "$("$found" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$1" ]
        then
            echo "$found"
            return
        fi
    done
}

try_version() {  # VERSION PYTHON PART: a failing step ends it
    local own=$folder/$1 bin=$folder/$1/venv/bin
    "$2" -m venv "$own/venv" &&
        "$bin/pip" install --quiet --disable-pip-version-check "$(echo "$folder"/*.whl)[test]" &&
        (cd "$own" && "$bin/tracegraph" --workspace "$own/workspace" --linger 0 report \
            "$OLDPWD/examples/traces/simulated_gpu.json.gz" --output "$own/report" >/dev/null) &&
        [ -s "$own/report/report.html" ] &&
        echo "report: ok" &&
        HYPOTHESIS_STORAGE_DIRECTORY=$own/hypothesis "$bin/python" -m pytest -q -p no:cacheprovider \
            --basetemp="$own/tests" --few --part "$3" tests/unit
}

main=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
python3 -m venv "$folder/build" &&
    "$folder/build/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$folder" . || exit 1
rm -rf build  # what setuptools leaves
failed=0
commits=$(git rev-list --count HEAD 2>/dev/null || echo 0)
parts=3  # of the unit tests of the oldest version
for version in $(promised); do
    [ "$version" = "$main" ] && continue
    python=$(find_python "$version")
    if [ -z "$python" ]; then
        echo "Python $version is not here, so it is not tried"
        continue
    fi
    part=$((commits % parts + 1))/$parts
    parts=6
    mkdir -p "$folder/$version"
    if try_version "$version" "$python" "$part" >"$folder/$version/log" 2>&1; then
        echo "Python $version: ok at ${SECONDS} s; part $part: $(tail -1 "$folder/$version/log")"
        rm -rf "${folder:?}/$version"
    else
        failed=1
        echo "Python $version FAILED:"
        tail -60 "$folder/$version/log"
    fi
done
[ "$failed" = 1 ] || rm -rf "$folder"
exit "$failed"
