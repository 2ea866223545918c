"""Names of events for people: shortened by meaning, and distinct where shown together; and their search."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import zip_longest

from tracegraph.vocabulary.canonical_names import without_address
from tracegraph.workbench.text.cpp_differences import tell_apart
from tracegraph.workbench.text.cpp_names import parse_function
from tracegraph.workbench.text.text import ELLIPSIS, label

_IDENTIFIER = re.compile(r"\w+")
_LONG, _HEAD = 200, 64
"""An identifier longer than `_LONG` characters shows `_HEAD` of them at its beginning.

Tensile's names hold all settings, mangled ones all types.
"""
_MOST_FIELDS = 4
"""How many differing fields of a long identifier are shown."""
_QUOTED_CELLS = 60
"""How many cells a name within a sentence may take."""
_MOST_SUFFIX = 8
"""A readable text may be this much longer than its name before the name itself is taken."""
_BETWEEN = re.compile(r"\W+")
"""What separates the parts of a name."""
_COMPARED, _SHORTEST, _ALIKE, _PARTS_A_NAME = 80, 3, 0.6, 4
"""How a name that does not exist is compared with those that do.

The first `_COMPARED` characters of a name count, which is what reports show of long ones, and its parts of at
least `_SHORTEST` characters. From `_ALIKE` (0..1) on two spellings are alike. `_PARTS_A_NAME` alike parts of
the same name leave room for others.
"""


def readable(names: Iterable[str]) -> dict[str, str]:
    """Return a readable text for each of the names that are shown together: no two have the same.

    Of a demangled C++ function it is the function and the template arguments that tell it from the others,
    of a built-in the name without its address, of an identifier of hundreds of characters its beginning and
    the fields that differ. All else stays as it is. Nothing is made safe to print.
    """
    given = list(dict.fromkeys(names))
    texts = _functions(given) | _without_addresses(given) | _beginnings(given)
    return _distinct({name: texts.get(name, name) for name in given})


def quoted(name: str) -> str:
    """Quote a name for a sentence: readable, short, safe to print, in backquotes."""
    return f"`{label(readable([name])[name], _QUOTED_CELLS)}`"


def _functions(names: Iterable[str]) -> dict[str, str]:
    """Return texts of the C++ functions among the names."""
    parsed = {name: parse_function(name) for name in sorted(names)}
    texts = tell_apart(list(dict.fromkeys(part for part in parsed.values() if part is not None)))
    return {name: texts[part] for name, part in parsed.items() if part is not None}


def _without_addresses(names: Iterable[str]) -> dict[str, str]:
    """Return texts of the names with addresses and of built-ins; the same at several addresses is counted."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        text = without_address(name)
        if text != name:
            alike[text].append(name)
    return {
        name: text if len(same) == 1 else f"{text} #{number}"
        for text, same in alike.items()
        for number, name in enumerate(same, start=1)
    }


def _beginnings(names: Iterable[str]) -> dict[str, str]:
    """Return texts of the long identifiers, which hold fields between underscores."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        if len(name) > _LONG and _IDENTIFIER.fullmatch(name):
            end = name.rfind("_", _HEAD // 2, _HEAD)
            alike[name[: end if end > 0 else _HEAD]].append(name)
    return {
        name: "_".join((head, ELLIPSIS, *(f"{field}_{ELLIPSIS}" for field in fields)))
        for head, same in alike.items()
        for name, fields in zip(same, _different_fields(same), strict=True)
    }


def _different_fields(names: Sequence[str]) -> list[list[str]]:
    """Return for each name the first fields that distinguish it from the others, as far as they do."""
    columns = list(zip_longest(*(name.split("_") for name in names), fillvalue=""))
    chosen: list[tuple[str, ...]] = []
    told = 1
    for column in columns:
        more = len(set(zip(*chosen, column, strict=True)))
        if more > told:
            chosen.append(column)
            told = more
        if told == len(names) or len(chosen) == _MOST_FIELDS:
            break
    return [[column[at] for column in chosen if column[at]] for at in range(len(names))]


def _distinct(texts: Mapping[str, str]) -> dict[str, str]:
    """Choose for each name its text, or the name itself if the text is longer or not unique."""
    chosen = {name: text if len(text) <= len(name) + _MOST_SUFFIX else name for name, text in texts.items()}
    while True:
        used = Counter(chosen.values())
        twice = [name for name, text in chosen.items() if used[text] > 1 and text != name]
        if not twice:
            return chosen
        chosen.update(zip(twice, twice, strict=True))


def match_names(names: Sequence[str], wanted: str) -> list[str]:
    """Find the names that are meant, in their order: exactly, else by a glob of `*` and `?`, else by a part.

    A glob stands for a whole name; upper and lower case differ, except in a part.
    """
    if wanted in names:
        return [wanted]
    if "*" in wanted or "?" in wanted:
        jokers = {"*": ".*", "?": "."}
        glob = re.compile("".join(jokers.get(char) or re.escape(char) for char in wanted), re.DOTALL)
        return [name for name in names if glob.fullmatch(name)]
    return [name for name in names if wanted.lower() in name.lower()]


def near_names(names: Sequence[str], wanted: str, count: int = 5) -> list[str]:
    """Return the names that are spelt like what was wanted, or have a part that is, the most like first.

    Upper and lower case count as the same.
    """
    parts = {part.lower(): name for name in reversed(names) for part in (*_parts(name), name[:_COMPARED])}
    near = get_close_matches(wanted.lower(), parts, _PARTS_A_NAME * count, _ALIKE)
    return list(dict.fromkeys(parts[close] for close in near))[:count]


def _parts(name: str) -> list[str]:
    """Split a name into the words that a user may have meant by it."""
    return [part for part in _BETWEEN.split(name[:_COMPARED]) if len(part) >= _SHORTEST]
