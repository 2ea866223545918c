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

    Raises
    ------
    InputError
        If a name is that of no source, or of several.
    """
    found = list(sources)
    for name, rank in ranks.items():
        places = [k for k, source in enumerate(found) if _is_meant(source, name)]
        if len(places) != 1:
            raise _unclear(name, [found[k] for k in places], found)
        found[places[0]] = replace(found[places[0]], rank=rank)
    return found


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
