"""What a name is called in every process that runs the same program."""

import re

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+", re.ASCII)
_HASH = re.compile(r" (?:(?=[a-z]*[2-7])[a-z2-7]{40,}|(?=[a-f]*[0-9])[0-9a-f]{32,})\b", re.ASCII)
"""Of compiled code, of which each process may have its own: in base 32 by torch.compile, or hexadecimal."""


def common_name(name: str) -> str:
    """Return the name without addresses of objects and hashes of compiled code."""
    return _HASH.sub("", _ADDRESS.sub("", name))
