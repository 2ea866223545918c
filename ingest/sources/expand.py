"""From the names on a command line to the files to read, which folders and patterns stand for."""

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol

from tracegraph.base.errors import InputError
from tracegraph.ingest.sources.names import may_be_trace, natural, trace_suffixes
from tracegraph.ingest.sources.ranks_given import with_ranks
from tracegraph.ingest.sources.remote import open_remote, refusal
from tracegraph.ingest.sources.source import AnySource, Source, Url, as_source


class Place(Protocol):
    """Files and folders by their full names."""

    def is_folder(self, name: str) -> bool:
        """Tell whether there is a folder of that name."""

    def children(self, folder: str) -> tuple[list[str], list[str]]:
        """List the files and the folders in a folder."""

    def matches(self, pattern: str) -> list[str]:
        """List the names that match a pattern; a name that exists matches only itself."""


class Disk:
    """The machine's own files."""

    def is_folder(self, name: str) -> bool:
        """Tell whether there is a folder of that name."""
        return os.path.isdir(name)

    def children(self, folder: str) -> tuple[list[str], list[str]]:
        """List the files and the folders in a folder; InputError if it cannot be read."""
        try:
            entries = [(entry.path, entry.is_dir()) for entry in os.scandir(folder)]
        except OSError as error:
            raise InputError(f"{folder} cannot be read: {error.strerror}", "check its permissions") from None
        return [name for name, is_folder in entries if not is_folder], [
            name for name, found in entries if found
        ]

    def matches(self, pattern: str) -> list[str]:
        """List the names that match; a name that exists as written is not a pattern."""
        if os.path.lexists(pattern) or not glob.has_magic(pattern):
            return [pattern]
        return glob.glob(os.path.expanduser(pattern), recursive=True)


class Remote:
    """What a URL's file system holds; names are URLs. InputError if its driver fails."""

    def __init__(self, url: Url) -> None:
        self._system, self._path = open_remote(url)
        self._given = url.text
        # Web servers have no folders that can be relied on, and `?` is not a pattern there.
        self._lists = not url.is_web

    def is_folder(self, name: str) -> bool:
        """Tell whether there is a folder of that name."""
        with self._refusing(name):
            return self._lists and bool(self._system.isdir(self._plain(name)))

    def children(self, folder: str) -> tuple[list[str], list[str]]:
        """List the files and the folders in a folder."""
        with self._refusing(folder):
            entries = self._system.ls(self._plain(folder), detail=True)
        kinds: dict[bool, list[str]] = {True: [], False: []}
        for entry in entries:
            kinds[entry["type"] == "directory"].append(self._full(entry["name"]))
        return kinds[False], kinds[True]

    def matches(self, pattern: str) -> list[str]:
        """List the names that match; a URL without a pattern is returned without asking."""
        if not self._lists or not glob.has_magic(pattern):
            return [pattern]
        with self._refusing(pattern):
            return [self._full(name) for name in self._system.glob(self._path)]

    def _plain(self, name: str) -> Any:
        return self._path if name == self._given else self._system._strip_protocol(name)

    def _full(self, name: str) -> str:
        return str(self._system.unstrip_protocol(name))

    @contextmanager
    def _refusing(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # a driver may raise anything
            raise refusal(Url(name), error) from None


def find_sources(
    arguments: Iterable[AnySource], ranks: Mapping[str, int] = MappingProxyType({})
) -> list[Source]:
    """List the files that paths, folders, patterns and URLs name, in order; in a folder rank 2 before 10.

    A folder stands for the traces in it, or, if there are none, for those one level below. A file that is
    named is taken whatever its name is, and whether it exists is found out as it is read.

    Parameters
    ----------
    ranks
        The ranks that the user states, by a file's name or the end of its path.

    Raises
    ------
    InputError
        If a folder holds no trace, nothing matches a pattern, a URL's driver is missing or fails, or a name
        in `ranks` is that of no file found, or of several.
    """
    found = [source for argument in arguments for source in _expand(as_source(argument))]
    return with_ranks(found, ranks)


def _expand(source: Source) -> list[Source]:
    if not source.given.strip():
        raise InputError("the path of the trace is empty", "name a file, a folder, a pattern or a URL")
    url = source.url
    place = Disk() if url is None else Remote(url)
    found = sorted(place.matches(source.given), key=natural)
    if not found:
        raise InputError(f"nothing matches {source.shown}", "check the pattern; a folder may be given, too")
    files = [name for one in found for name in (_in_folder(place, one) if place.is_folder(one) else [one])]
    likely = [name for name in files if may_be_trace(os.path.basename(name))]
    chosen = likely if likely and glob.has_magic(source.given) and len(files) > 1 else files
    return [replace(source, given=name) for name in chosen]


def _in_folder(place: Place, folder: str) -> list[str]:
    files, folders = place.children(folder)
    found = _traces(files)
    if not found:
        below = sorted(folders, key=natural)
        found = [
            name
            for one in below
            if not _base(one).startswith(".")
            for name in _traces(place.children(one)[0])
        ]
    if not found:
        endings = ", ".join(f"*{suffix}" for suffix in trace_suffixes())
        shown = Source(folder).shown
        raise InputError(
            f"{shown} holds no traces ({endings}), nor does a folder in it", "name the trace file"
        )
    return found


def _traces(files: Iterable[str]) -> list[str]:
    return sorted((name for name in files if may_be_trace(_base(name))), key=natural)


def _base(name: str) -> str:
    return name.rstrip("/").rsplit("/", 1)[-1]
