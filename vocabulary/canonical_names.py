"""Names as every process that runs the same program has them, and without addresses in memory."""

import re

_BUILT_IN = re.compile(
    r"<(?P<kind>built-in|bound) (?:method|function) (?P<name>.*?)"
    r"(?: of (?P<owner>.+?)(?: object)?)?(?: at 0x[0-9a-fA-F]+)?>",
    re.DOTALL,
)
_PYBIND = re.compile(r"pybind11_builtins\.pybind11_detail_function_record_\w+")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+", re.ASCII)
_HASH = re.compile(r" (?:(?=[a-z]*[2-7])[a-z2-7]{40,}|(?=[a-f]*[0-9])[0-9a-f]{32,})\b", re.ASCII)
"""A hash of compiled code, which processes may not share: in base 32 by torch.compile, or hexadecimal."""


def common_name(name: str) -> str:
    """Remove addresses of objects and hashes of compiled code from a name."""
    return _HASH.sub("", _ADDRESS.sub("", name))


def without_address(name: str) -> str:
    """Return the text of a built-in or of another object without where it is in memory, else the name."""
    if not name.startswith("<") or not name.endswith(">"):
        return name
    found = _BUILT_IN.fullmatch(name)
    if found is None:
        return _ADDRESS.sub("", name)
    owner = _PYBIND.sub("pybind11", found["owner"] or "")
    return " ".join(filter(None, (found["kind"], found["name"], owner and f"of {owner}")))
