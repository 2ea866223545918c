"""From what a command line names to the files to read: folders and patterns are looked into."""

import glob
import os
from collections.abc import Iterable

from tracegraph.base.errors import InputError
from tracegraph.ingest.sources.names import may_be_trace, natural, trace_suffixes
from tracegraph.ingest.sources.places import Place, place_of
from tracegraph.ingest.sources.source import AnySource, Source, as_source


def find_sources(arguments: Iterable[AnySource]) -> list[Source]:
    """The files that paths, folders, patterns and URLs name, in their order; in a folder rank 2 before 10.

    A folder stands for the traces in it, or where there are none for those one level below. A file that is
    named is taken whatever its name, and whether it is there is found out as it is read.

    Raises:
        InputError: a folder holds no trace, nothing matches a pattern, or a URL's driver is missing or fails.
    """
    return [source for argument in arguments for source in _expand(as_source(argument))]


def _expand(source: Source) -> list[Source]:
    if not source.given.strip():
        raise InputError("the path of the trace is empty", "name a file, a folder, a pattern or a URL")
    place = place_of(source.given)
    found = sorted(place.matches(source.given), key=natural)
    if not found:
        raise InputError(f"nothing matches {source.shown}", "check the pattern; a folder may be given, too")
    files = [name for one in found for name in (_in_folder(place, one) if place.is_folder(one) else [one])]
    likely = [name for name in files if may_be_trace(os.path.basename(name))]
    chosen = likely if likely and glob.has_magic(source.given) and len(files) > 1 else files
    return [Source(name, source.rank) for name in chosen]


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
