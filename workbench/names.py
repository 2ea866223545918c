"""Names of events for people: shortened by meaning, distinct where shown together; and found again."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from tracegraph.workbench.cpp_apart import tell_apart
from tracegraph.workbench.cpp_names import parse_function

_BUILT_IN = re.compile(
    r"<(?P<kind>built-in|bound) (?:method|function) (?P<name>.*?)"
    r"(?: of (?P<owner>.+?)(?: object)?)?(?: at 0x[0-9a-fA-F]+)?>",
    re.DOTALL,
)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>$)")
_PYBIND = re.compile(r"pybind11_builtins\.pybind11_detail_function_record_\w+")


def readable(names: Iterable[str]) -> dict[str, str]:
    """Return a readable text for each of the names that are shown together: no two have the same.

    Of a demangled C++ function it is the function and the template arguments that tell it from the others,
    of a built-in the name without its address. All else stays as it is. Nothing is made safe to print.
    """
    given = list(dict.fromkeys(names))
    return _distinct({**dict.fromkeys(given, ""), **_functions(given), **_without_addresses(given)})


def _functions(names: Iterable[str]) -> dict[str, str]:
    """Return texts of the C++ functions among the names."""
    parsed = {name: parse_function(name) for name in sorted(names)}
    texts = tell_apart(list(dict.fromkeys(part for part in parsed.values() if part is not None)))
    return {name: texts[part] for name, part in parsed.items() if part is not None}


def _without_addresses(names: Iterable[str]) -> dict[str, str]:
    """Return texts of the names with addresses and of built-ins; the same at several addresses is counted."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        text = _without_address(name)
        if text != name:
            alike[text].append(name)
    return {
        name: text if len(same) == 1 else f"{text} #{number}"
        for text, same in alike.items()
        for number, name in enumerate(same, start=1)
    }


def _without_address(name: str) -> str:
    if not name.startswith("<") or not name.endswith(">"):
        return name
    found = _BUILT_IN.fullmatch(name)
    if found is None:
        return _ADDRESS.sub("", name)
    owner = _PYBIND.sub("pybind11", found["owner"] or "")
    return " ".join(filter(None, (found["kind"], found["name"], owner and f"of {owner}")))


def _distinct(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the texts; the name itself where there is none, it is longer, or another's is the same."""
    chosen = {name: text if 0 < len(text) <= len(name) + 8 else name for name, text in texts.items()}
    while True:
        used = Counter(chosen.values())
        twice = [name for name, text in chosen.items() if used[text] > 1 and text != name]
        if not twice:
            return chosen
        chosen.update(zip(twice, twice, strict=True))


def match_names(names: Sequence[str], wanted: str) -> list[str]:
    """Return the names meant, in their order: exactly, else as a glob of `*` and `?`, else as a part.

    A glob stands for a whole name; upper and lower case are told apart, but not in a part.
    """
    if wanted in names:
        return [wanted]
    if "*" in wanted or "?" in wanted:
        jokers = {"*": ".*", "?": "."}
        glob = re.compile("".join(jokers.get(char) or re.escape(char) for char in wanted), re.DOTALL)
        return [name for name in names if glob.fullmatch(name)]
    return [name for name in names if wanted.lower() in name.lower()]


def near_names(names: Sequence[str], wanted: str, count: int = 5) -> list[str]:
    """Return the names most like what was wanted, the most like first."""
    lower = {name.lower(): name for name in reversed(names)}
    return [lower[close] for close in get_close_matches(wanted.lower(), lower, count, 0.4)]
