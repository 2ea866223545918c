"""Which of the installed jars changed since their content was checked: only these are hashed again."""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from tracegraph.base import private

_NOTE = "checked.json"


def changed(folder: Path, files: Iterable[str]) -> list[str]:
    """The files, by their paths in `folder`, that differ in size or times from when they were last noted."""
    noted = _read(folder / _NOTE)
    return [file for file in files if noted.get(file) != _state(folder / file)]


def note(folder: Path, files: Iterable[str]) -> None:
    """Note the files, whose content was just checked; where that cannot be written, they are hashed again."""
    fresh = folder / f"{_NOTE}.{os.getpid()}"
    states = {file: _state(folder / file) for file in files}
    with suppress(OSError):
        with open(fresh, "w", opener=private.opener) as out:
            json.dump(states, out)
        fresh.replace(folder / _NOTE)


def _read(file: Path) -> Mapping[str, object]:
    try:
        noted = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def _state(file: Path) -> list[int]:
    """What changes with the content: also where a time was set back, the system's own (ctime) tells."""
    try:
        found = file.stat()
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns]
