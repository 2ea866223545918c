"""Neo4j's jars: fetched once for each user and checked against the hashes that this package ships."""

import hashlib
import json
import os
import ssl
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib import resources
from pathlib import Path, PurePosixPath

import platformdirs

from tracegraph.base import file_rights
from tracegraph.base.errors import StoreError
from tracegraph.base.locks import lock
from tracegraph.base.parallel import run_all
from tracegraph.base.progress import Progress
from tracegraph.store.managed.java import class_archive, unsigned_jars

_NOTE = "checked.json"
"""The file in the folder of the jars that notes the state of each when it was checked."""
NEO4J_VERSION = "5.26.30"
COORDINATES = (
    f"org.neo4j:neo4j:{NEO4J_VERSION}",
    f"org.neo4j.app:neo4j-server:{NEO4J_VERSION}",
    f"org.neo4j:neo4j-import-tool:{NEO4J_VERSION}",
    "org.neo4j.client:neo4j-browser:5.24.0",
)
"""The source of jars.sha256: `jgo.resolve("+".join(COORDINATES))` gives the same files."""
_DOWNLOADS_AT_ONCE = 8
"""Jars that are downloaded at once."""
_OF_NETWORK = "Neo4j is fetched once, at first use: check the network, then run the command again"
_OF_CERTIFICATE = (
    "a proxy may have a certificate of its own: set SSL_CERT_FILE to the file with your certificates (PEM), "
    "or have them added to the system's, then run the command again"
)
DOWNLOAD_BYTES = 155_392_952
"""The size of all pinned jars together."""
_STAGE = f"fetching Neo4j {NEO4J_VERSION}, bytes"


def changed_jars(folder: Path, files: Iterable[str]) -> list[str]:
    """List the files, by their paths in `folder`, whose size or times are not those last noted."""
    noted = _read_notes(folder / _NOTE)
    return [file for file in files if noted.get(file) != _state(folder / file)]


def note_checked(folder: Path, files: Iterable[str]) -> None:
    """Note files whose content was just checked; if the note cannot be written, they are hashed again."""
    fresh = folder / f"{_NOTE}.{os.getpid()}"
    states = {file: _state(folder / file) for file in files}
    with suppress(OSError):
        with open(fresh, "w", opener=file_rights.opener) as out:
            json.dump(states, out)
        fresh.replace(folder / _NOTE)


def _read_notes(file: Path) -> Mapping[str, object]:
    try:
        noted = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def _state(file: Path) -> list[int]:
    """Return what changes with a file's content: size and times, of which nobody can set back the ctime."""
    try:
        found = file.stat()
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns]


@cache
def pinned_jars() -> dict[str, str]:
    """Return the SHA-256 of each jar by its path in a Maven repository, in the order of the class path."""
    text = resources.files("tracegraph.store.managed.java").joinpath("jars.sha256").read_text()
    return {path: digest for digest, path in (line.split() for line in text.splitlines())}


def jar_folder() -> Path:
    """Return the folder for the jars of this version: one for each user, shared by all workspaces."""
    pins = hashlib.sha256(repr(sorted(pinned_jars().items())).encode()).hexdigest()[:8]
    return Path(platformdirs.user_cache_dir("tracegraph")) / f"neo4j-{NEO4J_VERSION}-{pins}"


def is_there() -> bool:
    """Tell whether the jars were installed once, whatever happened to them later."""
    return jar_folder().is_dir()


def is_installed() -> bool:
    """Tell whether the jars are there and unchanged since each was checked."""
    folder = jar_folder()
    return folder.is_dir() and not changed_jars(folder, _checked(folder))


def damaged_jars() -> list[str]:
    """List, by their paths, the jars that are missing or differ from their hash, or whose copy is damaged."""
    folder = jar_folder()
    return [
        path
        for path, digest in pinned_jars().items()
        if _sha256(folder / path) != digest or unsigned_jars.is_damaged(folder, path)
    ]


def class_path() -> str:
    """Return the jars as a Java class path."""
    folder = jar_folder()
    return os.pathsep.join(str(unsigned_jars.place(folder, path)) for path in pinned_jars())


def install(progress: Progress) -> None:
    """Fetch and check the jars that are missing, and prepare what lets Java read them fast.

    Nothing happens if everything is there. A jar that changed since it was checked is hashed, and fetched
    again if its content is not the recorded one. The call may run twice at once and may be killed: jars
    arrive in a folder of their own, which gets its final name when all are complete, and a later call
    continues with what is there.

    Raises
    ------
    StoreError
        There is no network, the folder cannot be written, or a jar has other content.
    """
    folder = jar_folder()
    if not folder.is_dir():
        _install_jars(folder, progress)
    suspects = changed_jars(folder, _checked(folder))
    if suspects:
        _mend(folder, suspects, progress)
    unsigned_jars.make(folder, pinned_jars(), progress)
    if suspects:
        note_checked(folder, _checked(folder))
    class_archive.make(folder, class_path(), progress)


def _checked(folder: Path) -> list[str]:
    """List all that Java is given, by its path in the folder: the jars, and copies of some."""
    return [*pinned_jars(), *unsigned_jars.copies(folder, pinned_jars())]


def _mend(folder: Path, suspects: Sequence[str], progress: Progress) -> None:
    """Fetch those of the suspects again whose content is not the recorded one."""
    pins = pinned_jars()
    if any(_sha256(folder / path) != pins[path] for path in suspects if path in pins):
        with _writing(folder), lock(folder.with_name(folder.name + ".lock")):
            _fetch_missing(folder, progress)
    if any(unsigned_jars.is_damaged(folder, path) for path in pins):
        unsigned_jars.remove(folder)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"cannot install Neo4j into {folder}: {error.strerror or error}",
            "check the rights and the free space there, or set XDG_CACHE_HOME to another folder",
        ) from error


def _install_jars(folder: Path, progress: Progress) -> None:
    with lock(folder.with_name(folder.name + ".lock")):
        if folder.is_dir():
            return
        incoming = folder.with_name(folder.name + ".partial")
        with _writing(folder):
            incoming.mkdir(exist_ok=True)
            _fetch_missing(incoming, progress)
            incoming.rename(folder)


def _fetch_missing(folder: Path, progress: Progress) -> None:
    missing = [path for path, digest in pinned_jars().items() if _sha256(folder / path) != digest]
    done = sum((folder / path).stat().st_size for path in pinned_jars().keys() - set(missing))
    progress(_STAGE, done, DOWNLOAD_BYTES)
    with _systems_trust():
        for size in run_all(partial(_download, folder), missing, _DOWNLOADS_AT_ONCE):
            done += size
            progress(_STAGE, done, DOWNLOAD_BYTES)


@contextmanager
def _systems_trust() -> Iterator[None]:
    """Trust in the block the system's certificates, or the file that SSL_CERT_FILE names, as pip does.

    By itself the HTTP client knows only its own list and REQUESTS_CA_BUNDLE, and so fails behind a proxy that
    has a certificate of its network's.
    """
    import truststore  # noqa: PLC0415 (as jgo below)

    if ssl.SSLContext is truststore.SSLContext:
        yield  # the program around does so already
        return
    truststore.inject_into_ssl()
    try:
        yield
    finally:
        truststore.extract_from_ssl()


def _download(folder: Path, path: str) -> int:
    """Fetch a jar, check it, and return how many bytes it has."""
    # Imported here: slow to import, and needed once in the life of an installation.
    from jgo.maven import MavenContext  # noqa: PLC0415

    jar = PurePosixPath(path)
    group, name, version = ".".join(jar.parts[:-3]), jar.parts[-3], jar.parts[-2]
    classifier = jar.stem.removeprefix(f"{name}-{version}").removeprefix("-")
    target = folder / path
    target.unlink(missing_ok=True)
    artifact = MavenContext(repo_cache=folder).project(group, name).at_version(version).artifact(classifier)
    try:
        artifact.resolve()
    except RuntimeError as error:
        raise StoreError(
            f"cannot download {jar.name}: {_first_line(error)}", "run the command again later"
        ) from error
    except OSError as error:
        raise StoreError(
            f"cannot download {jar.name}: {_first_line(error)}",
            _OF_CERTIFICATE if "CERTIFICATE_VERIFY_FAILED" in str(error) else _OF_NETWORK,
        ) from error
    if _sha256(target) != pinned_jars()[path]:
        target.unlink()
        raise StoreError(
            f"{target.name} was downloaded with content that differs from the recorded SHA-256",
            "run the command again; if it stays so, something between here and the repository changes files",
        )
    return target.stat().st_size


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as handle:
            digest = hashlib.sha256()
            while chunk := handle.read(1 << 20):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()


def _first_line(error: Exception) -> str:
    """Say what went wrong, without the layers that the HTTP client wraps around the error."""
    inner = getattr(error.args[0], "reason", None) if error.args else None
    return str(inner or error).split("\n", 1)[0]
