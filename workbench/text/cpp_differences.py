"""Distinguishes demangled C++ functions by text: the function, and the arguments that differ."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from tracegraph.workbench.text.cpp_names import Part
from tracegraph.workbench.text.text import ELLIPSIS

_BRIEF_CHARS, _BRIEF_DEPTH, _NESTED_DEPTH = 64, 3, 2
"""How long and how deep a text with its most telling argument may be before it gets shallower."""
_MOST_NESTED = 2
"""How many arguments of an argument are shown."""
_MOST_SHOWN = 4
"""How many differences are shown before the whole text says more."""
_Place = tuple[str, int]
"""A template argument, `<` and its index, or a parameter, `(` and its index."""
_Texts = Mapping[Part, str]


def tell_apart(parts: Sequence[Part]) -> dict[Part, str]:
    """Return a text for each part that distinguishes it from the others."""
    return _tell_apart(parts, top=True)


def _tell_apart(parts: Sequence[Part], *, top: bool) -> dict[Part, str]:
    groups: dict[tuple[str, str, bool], list[Part]] = defaultdict(list)
    for part in parts:
        groups[part.name, part.suffix, part.is_lambda].append(part)
    texts: dict[Part, str] = {}
    for same in groups.values():
        texts |= {same[0]: _brief(same[0], top)} if len(same) == 1 else _differences(same, {})
    return texts


def _brief(part: Part, top: bool) -> str:
    """Return the part with its most telling argument, as deep as there is room."""
    for depth in range(_BRIEF_DEPTH if top else _NESTED_DEPTH, 0, -1):
        text = _nested(part, depth, 1 if top else _MOST_NESTED)
        if len(text) <= _BRIEF_CHARS:
            return text
    return part.name + part.suffix


def _nested(part: Part, depth: int, most: int) -> str:
    shown = _telling(part.args, most) if depth else ()
    text = part.name
    if shown:
        text += f"<{', '.join(_nested(arg, depth - 1, _MOST_NESTED) for arg in shown)}>"
    elif part.is_lambda:
        text += f"::lambda({', '.join(dict.fromkeys(_nested(arg, 0, 0) for arg in part.params))})"
    return text + part.suffix


def _telling(args: Sequence[Part], most: int) -> Sequence[Part]:
    """Return the arguments that say most: the first class or function, and for a type what it is of."""
    distinct = list(dict.fromkeys(args))
    classes = [arg for arg in distinct if arg.kind == "class"]
    builtins = [arg for arg in distinct if arg.kind == "builtin"]
    if most == 1:
        return (classes or builtins)[:1]
    return (builtins[:1] + classes[:1]) or distinct[:most]


def _differences(parts: Sequence[Part], shown: Mapping[_Place, _Texts]) -> dict[Part, str]:
    """Return texts of parts of one name, with the arguments `shown` and as many more as distinguish them."""
    if len(parts) == 1:
        return {parts[0]: _with(parts[0], shown)}
    place = _most_different(parts, shown) if len(shown) < _MOST_SHOWN else None
    if place is None:
        return _by_scope(parts, shown)
    groups: dict[Part | None, list[Part]] = defaultdict(list)
    for part in parts:
        groups[_at(part, place)].append(part)
    values = _tell_apart([value for value in groups if value is not None], top=False)
    texts: dict[Part, str] = {}
    for same in groups.values():
        texts |= _differences(same, {**shown, place: values})
    return texts


def _most_different(parts: Sequence[Part], shown: Mapping[_Place, _Texts]) -> _Place | None:
    """Return the first place with the most different values; parameters count where no argument differs."""
    for kind in "<(":
        width = max(len(_listed(part, kind)) for part in parts)
        counts = {
            place: len({_at(part, place) for part in parts})
            for place in ((kind, index) for index in range(width))
            if place not in shown
        }
        best = max(counts, key=lambda place: counts[place], default=None)
        if best is not None and counts[best] > 1:
            return best
    return None


def _by_scope(parts: Sequence[Part], shown: Mapping[_Place, _Texts]) -> dict[Part, str]:
    """Return texts of parts that have the same arguments: with what they are in, or as they stand."""
    wrappers = _without_common([part.wrappers for part in parts])
    scopes = _without_common([part.scope for part in parts])
    tries = (
        [_with(part, shown, "".join(outer)) for part, outer in zip(parts, wrappers, strict=True)],
        [_with(part, shown, numbers=part.numbers) for part in parts],
        [
            _with(part, shown, "".join(f"{name}::" for name in scope))
            for part, scope in zip(parts, scopes, strict=True)
        ],
    )
    best = next((texts for texts in tries if len(set(texts)) == len(parts)), [part.exact for part in parts])
    return dict(zip(parts, best, strict=True))


def _without_common(lists: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the lists without what all begin with."""
    common = 0
    while all(len(one) > common for one in lists) and len({one[common] for one in lists}) == 1:
        common += 1
    return [one[common:] for one in lists]


def _with(part: Part, shown: Mapping[_Place, _Texts], before: str = "", numbers: str = "") -> str:
    """Return the part with the arguments `shown`, after what it is in."""
    arguments, parameters = _elided(part, "<", shown), _elided(part, "(", shown)
    pieces = (
        before,
        part.name,
        f"<{arguments}>" if arguments else "",
        f"::lambda{numbers}" if part.is_lambda and (parameters or numbers) else "",
        f"({parameters})" if parameters else "",
        part.suffix,
        ">" * before.count("<"),
    )
    return "".join(pieces)


def _elided(part: Part, kind: str, shown: Mapping[_Place, _Texts]) -> str:
    """Return the arguments or parameters of which any are shown; others in a row as one ellipsis."""
    if not any(place[0] == kind for place in shown):
        return ""
    pieces: list[str] = []
    for index, value in enumerate(_listed(part, kind)):
        texts = shown.get((kind, index))
        if texts is not None:
            pieces.append(texts[value])
        elif pieces[-1:] != [ELLIPSIS]:
            pieces.append(ELLIPSIS)
    return ", ".join(pieces)


def _listed(part: Part, kind: str) -> tuple[Part, ...]:
    return part.args if kind == "<" else part.params


def _at(part: Part, place: _Place) -> Part | None:
    kind, index = place
    listed = _listed(part, kind)
    return listed[index] if index < len(listed) else None
