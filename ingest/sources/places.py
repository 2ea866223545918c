"""Where files are looked for: the disk, or a file system of fsspec, each by the same three questions."""

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from tracegraph.base.errors import InputError
from tracegraph.ingest.sources.remote import open_remote, refusal
from tracegraph.ingest.sources.source import protocol

_WITHOUT_LISTS = ("http", "https")
"""Web servers have no folders that can be relied on, and `?` is no pattern there."""


class Place(Protocol):
    """Files and folders by their full names."""

    def is_folder(self, name: str) -> bool:
        """Whether there is a folder of that name."""

    def children(self, folder: str) -> tuple[list[str], list[str]]:
        """The files and the folders in a folder."""

    def matches(self, pattern: str) -> list[str]:
        """What is there under names that match a pattern; of a name that is there it alone."""


class Disk:
    """The machine's own files."""

    def is_folder(self, name: str) -> bool:
        """Whether there is a folder of that name."""
        return os.path.isdir(name)

    def children(self, folder: str) -> tuple[list[str], list[str]]:
        """The files and the folders in a folder; InputError where it cannot be read."""
        try:
            entries = [(entry.path, entry.is_dir()) for entry in os.scandir(folder)]
        except OSError as error:
            raise InputError(f"{folder} cannot be read: {error.strerror}", "check its permissions") from None
        return [name for name, is_folder in entries if not is_folder], [
            name for name, found in entries if found
        ]

    def matches(self, pattern: str) -> list[str]:
        """What matches; what exists under this very name is no pattern."""
        if os.path.lexists(pattern) or not glob.has_magic(pattern):
            return [pattern]
        return glob.glob(os.path.expanduser(pattern), recursive=True)


class Remote:
    """What a URL's file system holds; names are URLs. InputError for whatever its driver cannot do."""

    def __init__(self, url: str) -> None:
        self._system, self._path = open_remote(url)
        self._url = url
        self._lists = protocol(url) not in _WITHOUT_LISTS

    def is_folder(self, name: str) -> bool:
        """Whether there is a folder of that name."""
        with self._refusing(name):
            return self._lists and bool(self._system.isdir(self._plain(name)))

    def children(self, folder: str) -> tuple[list[str], list[str]]:
        """The files and the folders in a folder."""
        with self._refusing(folder):
            entries = self._system.ls(self._plain(folder), detail=True)
        kinds: dict[bool, list[str]] = {True: [], False: []}
        for entry in entries:
            kinds[entry["type"] == "directory"].append(self._full(entry["name"]))
        return kinds[False], kinds[True]

    def matches(self, pattern: str) -> list[str]:
        """What matches; a URL without a pattern is not asked about."""
        if not self._lists or not glob.has_magic(pattern):
            return [pattern]
        with self._refusing(pattern):
            return [self._full(name) for name in self._system.glob(self._path)]

    def _plain(self, url: str) -> Any:
        return self._path if url == self._url else self._system._strip_protocol(url)

    def _full(self, name: str) -> str:
        return str(self._system.unstrip_protocol(name))

    @contextmanager
    def _refusing(self, url: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # a driver may raise anything
            raise refusal(url, error) from None


def place_of(text: str) -> Place:
    """The disk for a path, the file system of a URL else."""
    return Disk() if os.path.exists(text) or not protocol(text) else Remote(text)
