"""Make the list of Neo4j's classes anew, as for another version of it, by running a command.

    python -m tracegraph.store.managed.java.class_list tracegraph --workspace NEW report TRACE --output FOLDER

runs the command, records which classes each of its Java processes loads and writes them to classes.lst.gz.
The workspace must be fresh, so that the classes of the offline import and of the server's first start are
included.
"""

import gzip
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tracegraph.store.managed.java.class_archive import LIST_NAME, RECORD_VARIABLE

_LONGEST_LINE = 4000  # Java refuses a list with a line of 4096 characters


def record(command: Sequence[str]) -> list[str]:
    """Run a command and return the entries for the classes that its Java processes loaded, sorted.

    Raises
    ------
    subprocess.CalledProcessError
        The command failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command, env={**os.environ, RECORD_VARIABLE: folder}, check=True)
        texts = [path.read_text(errors="replace") for path in Path(folder).glob("*.lst")]
    return merge(texts)


def merge(lists: Iterable[str]) -> list[str]:
    """Merge several recorded lists: each entry once, sorted, without comments and numbers."""
    lines = {line.partition(" id: ")[0] for text in lists for line in text.splitlines()}
    return sorted(line for line in lines if 0 < len(line) <= _LONGEST_LINE and not line.startswith("#"))


if __name__ == "__main__":
    entries = record(sys.argv[1:])
    packed = gzip.compress("".join(f"{entry}\n" for entry in entries).encode(), mtime=0)
    Path(__file__).with_name(LIST_NAME).write_bytes(packed)
    print(f"{len(entries)} entries in {LIST_NAME}, {len(packed)} bytes")
