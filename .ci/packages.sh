#!/usr/bin/env bash
# The source archive and the wheel, as a package index would get them: both are built (the wheel from the archive),
# name, licence and README are checked, and each is installed into an empty environment and reads an example.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d "${TMPDIR:-/tmp}/tracegraph-packages.XXXXXX")
trap 'rm -rf "$folder"' EXIT
example=$PWD/examples/traces/simulated_gpu.json.gz

python3 -m venv "$folder/tools"
"$folder/tools/bin/pip" install --quiet --disable-pip-version-check build twine
"$folder/tools/bin/python" -m build --outdir "$folder/dist" . >"$folder/log" 2>&1 || { tail -40 "$folder/log"; exit 1; }
"$folder/tools/bin/twine" check --strict "$folder"/dist/*

python3 -m venv "$folder/empty"
for package in "$folder"/dist/*.whl "$folder"/dist/*.tar.gz; do
    "$folder/empty/bin/pip" install --quiet --disable-pip-version-check --force-reinstall \
        $([ "${package##*.}" = gz ] && echo --no-deps) "$package"
    (cd "$folder" && empty/bin/tracegraph doctor "$example" | head -2 && empty/bin/python -c '
from importlib.metadata import metadata
found = metadata("tracegraph")
assert found["Name"] == "tracegraph", found["Name"]
assert found["License-Expression"] == "MIT AND Apache-2.0 AND BSD-3-Clause", found["License-Expression"]
assert {"remote", "http", "dask"} <= set(found.get_all("Provides-Extra")), found.get_all("Provides-Extra")
')
    echo "${package##*/}: installed, and reads an example"
done
