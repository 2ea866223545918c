"""Loading with Neo4j's offline import: a first database, or a new one beside the one that serves."""

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from tracegraph.base.errors import StoreError
from tracegraph.base.progress import Progress
from tracegraph.store.managed.java import install, java
from tracegraph.store.managed.rebuild.import_files import FOLDER, write_files
from tracegraph.store.managed.server import served_database, server
from tracegraph.store.managed.server.home import prepare
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace

_STAGE = "importing into Neo4j"
_PARTS = 4
"""The number of parts whose progress an import prints."""
_BLOCK = 1 << 16
"""Bytes of a log that are read at once, and zeros that are left at its end."""
_PART = re.compile(rf"\((\d)/{_PARTS}\) ")
_PERCENT = re.compile(r" (\d{1,3})% ")


def build_home(workspace: Workspace, runs: Iterable[GraphTables], progress: Progress) -> None:
    """Make the workspace's server home anew, with `runs` as the whole content of its database.

    The caller holds `workspace.server_lock`, and no server runs. The home gets its name when it is complete,
    so a kill leaves the workspace as it was.

    Raises
    ------
    StoreError
        Neo4j cannot be installed, the import failed or the disk is full.
    """
    install.install(progress)
    home = workspace.neo4j_home.with_suffix(".new")
    server.end_imports(home)
    server.end_strays(workspace.neo4j_home)
    shutil.rmtree(home, ignore_errors=True)
    try:
        prepare(workspace, home)
        _import(home, served_database.NAMES[0], runs, progress)
        shutil.rmtree(workspace.neo4j_home, ignore_errors=True)
        home.rename(workspace.neo4j_home)
    except OSError as error:
        raise _unwritable(home, error) from error
    finally:
        shutil.rmtree(home, ignore_errors=True)


def import_beside(workspace: Workspace, runs: Iterable[GraphTables], progress: Progress) -> str:
    """Import `runs` into a new database of the home, while the old one may serve, and return its name.

    The caller holds `workspace.ingest_lock`, and no server serves the new name.

    Raises
    ------
    StoreError
        A kept run cannot be read, the import failed or the disk is full.
    """
    home = workspace.neo4j_home
    server.end_imports(home)
    served_database.discard_unserved(home)
    name = served_database.unserved(home)
    try:
        _import(home, name, runs, progress)
    except BaseException as error:
        served_database.discard_unserved(home)
        if isinstance(error, OSError):
            raise _unwritable(home, error) from error
        raise
    return name


def _import(home: Path, name: str, runs: Iterable[GraphTables], progress: Progress) -> None:
    files = home / FOLDER
    shutil.rmtree(files, ignore_errors=True)
    try:
        graphs = list(runs)
        arguments = write_files(home, graphs, progress)
        for graph in graphs:
            graph.begin_late()  # now that its files are written, which takes all cores
        # Its threads also wait for each other: a few more than cores saved a tenth with a million events.
        threads = (os.cpu_count() or 1) + 2
        command = ["database", "import", "full", name, f"--threads={threads}", *arguments]
        flags = java.import_flags(sum(file.stat().st_size for file in files.iterdir()))
        java.run_admin(home, command, flags, _ImportProgress(progress))
        _trim(home / "data" / "transactions" / name)
    finally:
        shutil.rmtree(files, ignore_errors=True)


def _trim(logs: Path) -> None:
    """Give back what an import reserves for a transaction log that it hardly writes: 256 MiB of zeros.

    No setting prevents that. Without the zeros the log looks like one of a server that does not allocate
    ahead, as the managed one is configured.
    """
    for log in logs.glob("neostore.transaction.db.*"):
        with log.open("r+b") as file:
            used = place = 0
            while block := file.read(_BLOCK):
                place += len(block)
                used = used if block == bytes(len(block)) else place
            file.truncate(used + _BLOCK if used + _BLOCK < place else place)


class _ImportProgress:
    """Reports the progress of an import by the lines that it prints: four parts, each with its percentage."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._part = progress, 1
        progress(_STAGE, 0, _PARTS * 100)

    def __call__(self, line: str) -> None:
        if part := _PART.match(line):
            self._part = int(part[1])
        if percent := _PERCENT.search(line):
            self._progress(_STAGE, (self._part - 1) * 100 + int(percent[1]), _PARTS * 100)


def _unwritable(home: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot write {home}: {error.strerror or error}", "check the free space there")
