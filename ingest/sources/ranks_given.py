"""Which rank a file is, if the user says so."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from tracegraph.base.errors import InputError
from tracegraph.base.suggest import did_you_mean
from tracegraph.ingest.sources.source import Source


def with_ranks(sources: Sequence[Source], ranks: Mapping[str, int]) -> list[Source]:
    """Set the ranks of sources that the user named, by a file's name or the end of its path.

    `FILE#PART` names one rank of a file that holds several.

    Raises
    ------
    InputError
        If a name is that of no source, or of several.
    """
    found = list(sources)
    for name, rank in ranks.items():
        places = [k for k, source in enumerate(found) if _is_meant(source, name)]
        file, mark, part = name.rpartition("#")
        if mark and not places:
            places = [k for k, source in enumerate(found) if _is_meant(source, file)]
        else:
            part = ""
        if len(places) != 1:
            raise _unclear(name, [found[k] for k in places], found)
        meant = found[places[0]]
        of_parts = (*meant.of_parts, (part, rank))
        found[places[0]] = replace(meant, of_parts=of_parts) if part else replace(meant, rank=rank)
    return found


def given_ranks(source: Source, parts: Sequence[str]) -> dict[str, int]:
    """Return the ranks that the user states of the parts of a source, by their names.

    Raises
    ------
    InputError
        If a name is that of no part, or one rank is stated for a file of several.
    """
    known = ", ".join(parts[:8]) + (", …" if len(parts) > 8 else "")
    if len(parts) > 1 and source.rank is not None:
        raise InputError(
            f"{source.shown} holds {len(parts)} ranks, so that one number cannot be meant",
            f"name the process of each, --rank-of FILE#PROCESS=N; the processes are {known}",
        )
    told = dict(source.of_parts) if len(parts) > 1 else {}
    for name, _ in source.of_parts:
        if name not in parts or len(parts) == 1:
            raise InputError(
                f"--rank-of {source.name}#{name}: there is no such process with work on a GPU in it",
                f"the processes are {known}" if len(parts) > 1 else "the file holds one rank: leave #… out",
            )
    return told if source.rank is None else dict.fromkeys(parts, source.rank)


def _is_meant(source: Source, name: str) -> bool:
    if name in (source.given, source.shown) or os.path.abspath(name) == source.located.given:
        return True
    asked = PurePosixPath(name).parts
    return bool(asked) and PurePosixPath(source.shown).parts[-len(asked) :] == asked


def _unclear(name: str, meant: Sequence[Source], sources: Sequence[Source]) -> InputError:
    if meant:
        return InputError(
            f"--rank-of {name} may be {meant[0].shown} or {meant[1].shown}", "give more of the path"
        )
    names = [source.name for source in sources]
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    hint = did_you_mean(name, names, f"the files are {shown}") if names else "give the file, too"
    return InputError(f"--rank-of {name}: there is no such file among those given", hint)
