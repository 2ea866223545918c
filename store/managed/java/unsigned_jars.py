"""Copies, without their signatures, of the jars that Neo4j reads most.

Java cannot archive any class of a signed jar, and it checks the list of all the jar's files anew at each of
the hundred times that Neo4j looks for one of its services: a third of the server's start. The signature says
nothing more than the recorded SHA-256, which is checked before the jar is copied.
"""

import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tracegraph.base.errors import StoreError
from tracegraph.base.locks import lock
from tracegraph.base.progress import Progress

_SIGNED = (
    "org/eclipse/collections/eclipse-collections-api/",
    "org/eclipse/collections/eclipse-collections/",
)
"""Beginnings of the paths of the jars that are copied."""
_FOLDER = "unsigned"
_STAGE = "preparing Neo4j's jars, once"
_MANIFEST = "META-INF/MANIFEST.MF"
_BAD_ZIP = (zipfile.BadZipFile, zlib.error)
_SIGNATURE = re.compile(r"META-INF/[^/]+\.(SF|RSA|DSA|EC)")


def in_use(folder: Path) -> bool:
    """Tell whether the copies of the jars in `folder` are there; they appear all at once."""
    return (folder / _FOLDER).is_dir()


def copies(folder: Path, jars: Iterable[str]) -> list[str]:
    """List the copies that Java is given, by their paths in `folder`."""
    places = (place(folder, jar) for jar in jars if jar.startswith(_SIGNED))
    return [str(found.relative_to(folder)) for found in places if found.is_relative_to(folder / _FOLDER)]


def remove(folder: Path) -> None:
    """Remove the copies; `make` makes them anew."""
    shutil.rmtree(folder / _FOLDER, ignore_errors=True)


def place(folder: Path, jar: str) -> Path:
    """Return the path where Java finds a jar that is given by its path in `folder`."""
    return folder / _FOLDER / jar if jar.startswith(_SIGNED) and in_use(folder) else folder / jar


def is_damaged(folder: Path, jar: str) -> bool:
    """Tell whether a copy exists that is not complete, or differs from its jar in more than the signature."""
    copy = place(folder, jar)
    if copy == folder / jar:
        return False
    try:
        with zipfile.ZipFile(folder / jar) as source, zipfile.ZipFile(copy) as target:
            return target.testzip() is not None or _checksums(source) != _checksums(target)
    except (OSError, *_BAD_ZIP):
        return True


def make(folder: Path, jars: Iterable[str], progress: Progress) -> None:
    """Copy the jars in `folder` unless that is done; without free space or the right to write, do nothing.

    The call may run twice at once and may be killed.
    """
    signed = [jar for jar in jars if jar.startswith(_SIGNED)]
    if not signed or in_use(folder):
        return
    with suppress(OSError, StoreError, *_BAD_ZIP), lock(folder / f"{_FOLDER}.lock"):
        if in_use(folder):
            return
        for leftover in folder.glob(f"{_FOLDER}-*.partial"):
            shutil.rmtree(leftover, ignore_errors=True)
        progress(_STAGE, 0, 0)
        with tempfile.TemporaryDirectory(prefix=f"{_FOLDER}-", suffix=".partial", dir=folder) as partial:
            made = Path(partial, _FOLDER)
            for jar in signed:
                _copy(folder / jar, made / jar)
            made.rename(folder / _FOLDER)


def _copy(jar: Path, copy: Path) -> None:
    copy.parent.mkdir(parents=True)
    with zipfile.ZipFile(jar) as source, zipfile.ZipFile(copy, "w") as target:
        for entry in source.infolist():
            if not _SIGNATURE.fullmatch(entry.filename):
                content = source.read(entry)
                target.writestr(entry, _main_section(content) if entry.filename == _MANIFEST else content)


def _main_section(manifest: bytes) -> bytes:
    """Cut from a manifest the sections about single files, which hold their hashes."""
    return re.split(rb"\r?\n\r?\n", manifest, maxsplit=1)[0] + b"\r\n\r\n"


def _checksums(jar: zipfile.ZipFile) -> dict[str, int]:
    names = (entry for entry in jar.infolist() if entry.filename != _MANIFEST)
    return {entry.filename: entry.CRC for entry in names if not _SIGNATURE.fullmatch(entry.filename)}
