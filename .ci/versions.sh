#!/usr/bin/env bash
# What a package index would get, with each version of Python that pyproject.toml promises and this machine has. The
# source archive is built, the wheel from it, and their name, licence and README are checked. Each version installs the
# archive and then the wheel into an empty environment, reports on an example, and runs unit tests: a sixth of them with
# the oldest version, whose libraries differ most, a twelfth with each other one, and with the next commit the next part.
# The version that runs everything else (python3) is left out.
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
    install() { "$bin/pip" install --quiet --disable-pip-version-check "$@"; }
    "$2" -m venv "$own/venv" &&
        install "$folder"/*.tar.gz &&
        (cd "$own" && "$bin/python" -c "$CHECK") &&
        install --no-deps --force-reinstall "$folder"/*.whl &&
        (cd "$own" && "$bin/tracegraph" --workspace "$own/workspace" --linger 0 report \
            "$OLDPWD/examples/traces/simulated_gpu.json.gz" --output "$own/report" >/dev/null) &&
        [ -s "$own/report/report.html" ] &&
        echo "report: ok" &&
        install "$(echo "$folder"/*.whl)[test]" &&
        HYPOTHESIS_STORAGE_DIRECTORY=$own/hypothesis "$bin/python" -m pytest -q -p no:cacheprovider \
            --basetemp="$own/tests" --few --part "$3" tests/unit
}

CHECK='
from importlib.metadata import metadata
found = metadata("tracegraph")
assert found["Name"] == "tracegraph", found["Name"]
assert found["License-Expression"] == "MIT AND Apache-2.0 AND BSD-3-Clause", found["License-Expression"]
assert {"remote", "http", "dask"} <= set(found.get_all("Provides-Extra")), found.get_all("Provides-Extra")
'

main=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
python3 -m venv "$folder/build" &&
    "$folder/build/bin/pip" install --quiet --disable-pip-version-check build twine &&
    "$folder/build/bin/python" -m build --outdir "$folder" . >"$folder/build.log" 2>&1 &&
    "$folder/build/bin/twine" check --strict "$folder"/*.whl "$folder"/*.tar.gz ||
    { tail -40 "$folder/build.log"; exit 1; }
failed=0
commits=$(git rev-list --count HEAD 2>/dev/null || echo 0)
parts=6  # of the unit tests of the oldest version
for version in $(promised); do
    [ "$version" = "$main" ] && continue
    python=$(find_python "$version")
    if [ -z "$python" ]; then
        echo "Python $version is not here, so it is not tried"
        continue
    fi
    part=$((commits % parts + 1))/$parts
    parts=12
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
