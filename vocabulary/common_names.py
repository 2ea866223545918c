"""Names that are the same in every process that runs the same program."""

import re

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+", re.ASCII)
_HASH = re.compile(r" (?:(?=[a-z]*[2-7])[a-z2-7]{40,}|(?=[a-f]*[0-9])[0-9a-f]{32,})\b", re.ASCII)
"""A hash of compiled code, which processes may not share: in base 32 by torch.compile, or hexadecimal."""


def common_name(name: str) -> str:
    """Remove addresses of objects and hashes of compiled code from a name."""
    return _HASH.sub("", _ADDRESS.sub("", name))
