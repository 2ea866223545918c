"""Which ranks the names of files state, as in `rank3.json.gz` or `1785-TP-1.trace.json`.

The number in `profile_0.json` counts if it is one of several such files. A number is believed if it can mean
nothing but the rank of the job. If names hold places in groups of ranks (TP, DP, PP, EP) that may be combined
in several ways, they state no rank.
"""

import re
from collections.abc import Sequence
from pathlib import PurePath

_RANK = re.compile(r"rank[ _.-]?(\d{1,6})(?!\d)", re.ASCII | re.IGNORECASE)
_PLACE = re.compile(
    r"(?<![A-Za-z])(TP|PP|DP|EP|CP|SP|DCP|PCP|ETP)(?:[ _-]?rank)?[ _.-]?(\d{1,4})(?!\d)",
    re.ASCII | re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+", re.ASCII)
_WORD = re.compile(r"([A-Za-z]*)[^A-Za-z0-9/]*$", re.ASCII)
_OF_FOLDER = re.compile(r"(?:step|iter|iteration|epoch)s?/", re.ASCII | re.IGNORECASE)
_NO_RANKS = re.compile(
    r".*(?:step|iter|iteration|epoch|batch|run|trial|attempt|try|part|chunk|cycle|pid|window|repeat|version|call|"
    r"node|host|machine|sample|v|t|time|layer|stage|phase)s?",
    re.IGNORECASE,
)
"""Words before a number that is not a rank's."""


def rank_in_name(name: str) -> int | None:
    """Find the rank in a file's name, else in its folder's: `rank3.json.gz`, `logs/rank_3/trace.json`."""
    path = PurePath(name)
    found = _RANK.findall(path.name) or _RANK.findall(path.parent.name)
    return int(found[-1]) if found else None


def ranks_in_names(names: Sequence[str]) -> list[int | None]:
    """Find the rank of each of the files of one job, None if the names do not state it.

    A stated rank counts before a place in groups, and that before a number that only counts the files.
    """
    stated = [rank_in_name(name) for name in names]
    left = [name for name, rank in zip(names, stated, strict=True) if rank is None]
    if len(left) < len(names):
        return stated
    placed = _places(left)
    told = _by_place(placed) if any(placed) else _by_count(left)
    return [None] * len(names) if told is None else [*told]


def _places(names: Sequence[str]) -> list[dict[str, int]]:
    """Find the places in groups that each name states, else its folder's."""
    paths = [PurePath(name) for name in names]
    found = [_PLACE.findall(path.name) or _PLACE.findall(path.parent.name) for path in paths]
    return [{kind.upper(): int(number) for kind, number in one} for one in found]


def _by_place(places: Sequence[dict[str, int]]) -> list[int] | None:
    """Find ranks from places in groups: neighbours within TP are neighbours in the job, in all frameworks.

    So the number in TP is the rank if all other places are 0, or the same number (EP within TP). If there is
    only one kind of place, it is the rank. None if the places may mean several ranks.
    """
    kinds = set(places[0])
    if not kinds or any(set(one) != kinds for one in places):
        return None
    chosen = "TP" if "TP" in kinds else next(iter(kinds)) if len(kinds) == 1 else None
    if chosen is None:
        return None
    ranks = [one[chosen] for one in places]
    others = [
        number in ((0, one[chosen]) if kind == "EP" else (0,))
        for one in places
        for kind, number in one.items()
        if kind != chosen
    ]
    return ranks if all(others) and len(set(ranks)) == len(ranks) else None


def _by_count(names: Sequence[str]) -> list[int] | None:
    """Find ranks if names differ in one number that counts the files from 0.

    None if there is no such number, or if the word before it says that it counts something else.
    """
    if len(names) < 2:
        return None
    texts = [f"{path.parent.name}/{path.name}" for path in map(PurePath, names)]
    if len({_NUMBER.sub("#", text) for text in texts}) != 1:
        return None
    columns = list(zip(*([int(number) for number in _NUMBER.findall(text)] for text in texts), strict=True))
    words = [_word_before(texts[0], place) for place in range(len(columns))]
    counting = [
        place
        for place, column in enumerate(columns)
        if sorted(column) == list(range(len(names))) and not _NO_RANKS.fullmatch(words[place])
    ]
    return list(columns[counting[0]]) if len(counting) == 1 else None


def _word_before(text: str, place: int) -> str:
    start = [found.start() for found in _NUMBER.finditer(text)][place]
    found = _WORD.search(text[:start])
    word = found[1] if found else ""
    return word or text[:start].rstrip("/") * bool(_OF_FOLDER.fullmatch(text[:start]))
