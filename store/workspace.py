"""A workspace: the folder with the managed server's home and the kept tables of each run."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from tracegraph.base import file_rights
from tracegraph.base.errors import InputError, StoreError
from tracegraph.base.locks import lock, try_lock
from tracegraph.store.places import default_root, folder_name, runs_folder
from tracegraph.store.schema.schema import SCHEMA_VERSION
from tracegraph.store.table_folder import readable
from tracegraph.store.tables import GraphTables, load_graph

_MANIFEST = "manifest.json"
_SPOOL = "spool-"
_FRESH, _OLD, _DOOMED = ".new", ".old", ".deleted"
_LONGEST_FILE_NAME = 255
"""The most bytes that usual file systems allow in a file name."""


class Workspace:
    """Paths and kept runs of one workspace folder; its server stays for `linger_s` after its last use."""

    def __init__(self, root: Path, linger_s: float = 0.0) -> None:
        self.root = root
        self.linger_s = linger_s
        self.runs_dir = runs_folder(root)
        self.neo4j_home = root / "neo4j"
        self.password_file = root / "password"
        self.server_file = root / "server.json"
        self.use_lock = root / "use.lock"  # shared: a command uses the server
        self.warm_lock = root / "warm.lock"  # shared: the server stays between uses, for a notebook
        self.server_lock = root / "server.lock"  # exclusive: the server is being started, stopped or replaced
        self.read_lock = root / "read.lock"  # shared: a command reads runs; exclusive: one is replaced
        self.readings = 0  # of this process
        self.ingest_lock = root / "ingest.lock"  # exclusive: a run is being stored or deleted
        self.doubt_file = self.runs_dir / ".doubt"  # names the run that is being changed
        self.old_folder = self.runs_dir / _OLD  # the kept tables that are being replaced

    def has_database(self) -> bool:
        """Tell whether a managed database exists, running or not."""
        return self.neo4j_home.is_dir()

    @contextmanager
    def spool(self) -> Iterator[Path]:
        """Make a folder for the tables of a run being built; remove those that killed commands left.

        Raises
        ------
        StoreError
            The folder cannot be made.
        """
        self.clear_spools()
        folder = self.root / f"{_SPOOL}{os.getpid()}"
        own = folder.with_suffix(".lock")
        with lock(own):
            try:
                file_rights.make_folder(folder)
            except OSError as error:
                raise _unwritable(folder, error) from error
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
                own.unlink(missing_ok=True)

    def clear_spools(self) -> None:
        """Remove the folders of `spool` that killed commands left."""
        for left in self.root.glob(f"{_SPOOL}*.lock"):
            with try_lock(left) as is_left:
                if is_left:
                    shutil.rmtree(left.with_suffix(""), ignore_errors=True)
                    left.unlink(missing_ok=True)

    def clear_unfinished(self) -> None:
        """Remove what a killed command left of kept runs; the caller holds `ingest_lock`.

        A run that was being replaced gets its name back unless the new one took it. If the new one did, the
        old tables stay as long as the run is in doubt.
        """
        replaced = self.read_manifest(self.old_folder)
        if replaced is not None and not (folder := self.run_folder(str(replaced["run"]))).exists():
            self.old_folder.rename(folder)
        for name in (_FRESH, _DOOMED, *([] if self.doubted() else [_OLD])):
            shutil.rmtree(self.runs_dir / name, ignore_errors=True)
        self._fresh_doubt.unlink(missing_ok=True)

    def doubted(self) -> str | None:
        """Return the run that a command is storing or deleting, or was when it was killed; else None.

        Raises
        ------
        StoreError
            The note of it is damaged.
        """
        try:
            return str(json.loads(self.doubt_file.read_text())["run"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{self.doubt_file} is damaged", "remove it") from error

    def note_doubt(self, name: str) -> None:
        """Put the run `name` in doubt until `clear_doubt`, also after a kill; the caller holds `ingest_lock`.

        Raises
        ------
        StoreError
            The note cannot be written.
        """
        try:
            with self._fresh_doubt.open("w") as file:
                json.dump({"run": name}, file)
                file.flush()
                os.fsync(file.fileno())
            self._fresh_doubt.replace(self.doubt_file)
        except OSError as error:
            raise _unwritable(self.doubt_file, error) from error

    @property
    def _fresh_doubt(self) -> Path:
        return self.doubt_file.with_suffix(".new")

    def clear_doubt(self) -> None:
        """Note that no run is in doubt any more: the kept tables are those of the stored runs."""
        self.doubt_file.unlink(missing_ok=True)
        shutil.rmtree(self.old_folder, ignore_errors=True)

    def save_run(self, tables: GraphTables, manifest: Mapping[str, object]) -> Path:
        """Keep a run's tables and manifest, replacing a run of the same name, and return its folder.

        The caller holds `ingest_lock`. The folder gets its name when all is on disk, so that no reader sees
        a part of it. The replaced tables of a run in doubt stay in `old_folder`.
        """
        folder, doubted = self.run_folder(tables.run), self.doubted()
        fresh, old = self.runs_dir / _FRESH, self.old_folder
        if doubted not in (None, tables.run):
            old = self.runs_dir / _DOOMED  # the old tables of the run in doubt may be needed
        try:
            self.clear_unfinished()
            fresh.mkdir(parents=True)
            tables.save(fresh)
            (fresh / _MANIFEST).write_text(json.dumps(manifest, indent=1))
            _sync(fresh)
            if folder.exists():
                folder.rename(old)
            fresh.rename(folder)
            sync_folder(self.runs_dir)
            if doubted != tables.run:
                shutil.rmtree(old, ignore_errors=True)
        except OSError as error:
            raise _unwritable(folder, error) from error
        return folder

    def run_folder(self, name: str) -> Path:
        """Return the folder of a run; any name is encoded as a safe file name.

        Raises
        ------
        InputError
            The name is empty or too long for a file name.
        """
        encoded = folder_name(name)
        if not encoded or len(encoded) > _LONGEST_FILE_NAME:
            raise InputError(
                f"the run name {name[:40]!r} cannot be a folder's name ({len(encoded)} characters)",
                "choose another one with --run",
            )
        return self.runs_dir / encoded

    def load_run(self, name: str) -> GraphTables:
        """Open the kept tables of a run.

        Raises
        ------
        StoreError
            The run is not kept here, or its tables cannot be read.
        """
        folder = self.run_folder(name)
        if not folder.is_dir():
            raise StoreError(f"the workspace {self.root} keeps no run {name!r}", "see `tracegraph runs list`")
        with readable(folder):
            return load_graph(folder)

    def rows(self, name: str, created: str, query: str) -> pa.Table | None:
        """Read the kept rows of a query about a whole run, if they are of the run ingested at `created`."""
        kept = self.manifest(name)
        if kept is None or kept.get("created") != created:
            return None
        return self.load_run(name).rows.get(query)

    def manifest(self, name: str) -> dict[str, object] | None:
        """Read the manifest of a kept run that is not in doubt; None if there is none."""
        return None if name == self.doubted() else self.read_manifest(self.run_folder(name))

    def manifests(self) -> list[dict[str, object]]:
        """Read the manifests of all kept runs that are not in doubt, oldest first."""
        doubted = self.doubted()
        return [entry for entry in self.all_manifests() if doubted is None or entry.get("run") != doubted]

    def all_manifests(self) -> list[dict[str, object]]:
        """Read the manifests of all kept runs, including the run in doubt, oldest first."""
        found = (self.read_manifest(path.parent) for path in self.runs_dir.glob(f"[!.]*/{_MANIFEST}"))
        return sorted((entry for entry in found if entry), key=lambda entry: str(entry.get("created", "")))

    def read_manifest(self, folder: Path) -> dict[str, object] | None:
        """Read the manifest in the folder of a kept run; None if there is none."""
        return _read_manifest(folder / _MANIFEST)

    def delete_run(self, name: str) -> None:
        """Remove the kept tables of a run, if any; the caller holds `ingest_lock`."""
        self.discard(self.run_folder(name))

    def discard(self, folder: Path) -> None:
        """Remove the folder of a kept run, if any, in one step for those who come after a kill."""
        if folder.is_dir():
            doomed = self.runs_dir / _DOOMED
            shutil.rmtree(doomed, ignore_errors=True)
            folder.rename(doomed)
            shutil.rmtree(doomed, ignore_errors=True)


def open_workspace(path: Path | None, linger_s: float = 0.0) -> Workspace:
    """Open the workspace in `path` (default: the user's data folder), making it if it does not exist.

    Its managed server, once used, stays for `linger_s` seconds; with 0 it ends with the command.

    Raises
    ------
    StoreError
        The folder cannot be written, or another version of the schema made it.
    """
    root = (path or default_root()).expanduser().resolve()
    workspace, marker = Workspace(root, linger_s), root / "workspace.json"
    try:
        file_rights.make_folder(root)
        file_rights.make_folder(root / "runs")
        if not marker.exists():
            _write_marker(workspace, marker)
        version = json.loads(marker.read_text())["schema_version"]
    except OSError as error:
        raise _unwritable(root, error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{marker} is damaged", "choose another folder with --workspace") from error
    if version != SCHEMA_VERSION:
        newer = version > SCHEMA_VERSION
        raise StoreError(
            f"the workspace {root} has schema version {version}, "
            f"{'newer' if newer else 'older'} than version {SCHEMA_VERSION} here",
            "update tracegraph, or choose another folder with --workspace"
            if newer
            else "move that folder away, or choose another with --workspace, and ingest the traces again",
        )
    file_rights.close_to_others(root)
    return workspace


def _write_marker(workspace: Workspace, marker: Path) -> None:
    fresh = marker.with_suffix(".new")  # one name for all, so that what a killed command left is replaced
    with lock(workspace.server_lock):
        if not marker.exists():
            fresh.write_text(json.dumps({"schema_version": SCHEMA_VERSION}))
            fresh.replace(marker)


def _read_manifest(path: Path) -> dict[str, object] | None:
    try:
        entry = json.loads(path.read_text())
    except OSError:
        return None
    except ValueError as error:
        raise StoreError(f"{path} is damaged", f"remove the folder {path.parent} and ingest again") from error
    return entry if isinstance(entry, dict) else None


def _sync(folder: Path) -> None:
    for path in folder.iterdir():
        path.chmod(file_rights.FILE)
        with path.open("rb") as handle:
            os.fsync(handle.fileno())
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, so that what was renamed stays so after a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write {path}: {error.strerror or error}", "choose another folder with --workspace"
    )
