"""What entries state of their operands, as compact JSON: shapes, and types, strides and scalars together.

A trace states few distinct ones, so that each text is made once. Most entries state none.
"""

from collections.abc import Sequence

import msgspec

from tracegraph.ingest.readers.kineto.entry_decoding import NULL, Arguments


class ShapeTexts(dict[bytes, str | None]):
    """The compact text of each distinct list of shapes."""

    def __missing__(self, raw: bytes) -> str | None:
        text = self[raw] = _compact(raw)
        return text

    def of(self, arguments: Sequence[Arguments]) -> list[str | None]:
        """Return the text of each entry, None where it states none."""
        return [
            None if one.dims is one.dims_old is NULL else self[bytes(one.dims)] or self[bytes(one.dims_old)]
            for one in arguments
        ]


class InputTexts(dict[tuple[bytes, bytes, bytes], str | None]):
    """The compact text of each distinct list of types, strides and scalars together."""

    def __missing__(self, raw: tuple[bytes, bytes, bytes]) -> str | None:
        types, strides, scalars = (_compact(one) or "null" for one in raw)
        known = (types, strides, scalars) != ("null", "null", "null")
        text = self[raw] = f"[{types},{strides},{scalars}]" if known else None
        return text

    def of(self, arguments: Sequence[Arguments]) -> list[str | None]:
        """Return the text of each entry, None where it states none."""
        return [
            None
            if one.types is one.strides is one.scalars is NULL
            else self[bytes(one.types), bytes(one.strides), bytes(one.scalars)]
            for one in arguments
        ]


def _compact(raw: bytes) -> str | None:
    if raw == b"null":
        return None
    try:
        return msgspec.json.format(raw, indent=-1).decode("utf-8", "replace")
    except (msgspec.MsgspecError, RecursionError):
        return None  # such as half a surrogate pair: the decoder accepts it, the formatter does not
