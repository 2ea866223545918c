"""How many bytes an operation moves: from what a file states of a collective, else from recorded shapes."""

import json
import re

from tracegraph.ingest.flops.operands import read_inputs
from tracegraph.vocabulary.collectives import KIND
from tracegraph.vocabulary.element_types import find_type

# The bytes of an element by the type that NCCL's events state, in lower case.
_ELEMENT_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2, "long": 8, "long int": 8, "int": 4, "short": 2,
    "char": 1, "byte": 1, "bool": 1, "unsigned char": 1, "c10::half": 2, "c10::bfloat16": 2,
    "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip
_INPUT_OF = {
    "c10d::allreduce_": 0,
    "c10d::broadcast_": 0,
    "c10d::reduce_": 0,
    "c10d::_allgather_base_": 1,
    "c10d::_reduce_scatter_base_": 1,
    "c10d::alltoall_base_": 1,
}
"""Operators that send one tensor, and which of their inputs that is."""
# NCCL builds a kernel for each type that it reduces; kernels that only copy are built for one type.
_REDUCED = re.compile(
    r"(?:AllReduce|ReduceScatter|Reduce)_.*?(?<![a-z0-9])(b?f(?:16|32|64)|half|float|double)(?![a-z0-9])"
)
_WIDTH = {"f16": 2, "bf16": 2, "half": 2, "f32": 4, "float": 4, "f64": 8, "double": 8}


def stated_bytes(elements: int | None, dtype: str | None) -> int | None:
    """Count the bytes that a member puts in, by the elements and the type that a file states, B."""
    width = _ELEMENT_BYTES.get((dtype or "").lower())
    return None if elements is None or width is None else elements * width


def message_bytes(kind: str, stated: int | None, members: int | None) -> int | None:
    """Count the bytes that a member puts in, by the size that a call to NCCL states, B.

    NCCL counts what goes to one member where it scatters data: there it takes the number of members.
    """
    factor = KIND[kind].of_message
    if stated is None or (members is None and factor(2) != 1):
        return None
    return round(stated * factor(members or 1))


def shaped_bytes(kernel: str, operator: str, shapes: str | None, inputs: str | None = None) -> int | None:
    """Count the bytes that a member puts in, by the shapes of the operator that launched the kernel, B.

    The name of a kernel that reduces says the type, else the file states it with the shape. None where
    neither tells, or where an operator sends several tensors: how it cuts them into kernels is not recorded.
    """
    place = _INPUT_OF.get(operator)
    width = None if place is None else _width(kernel, inputs, place)
    if place is None or width is None:
        return None
    try:
        sent = json.loads(shapes or "")[place]
    except (ValueError, LookupError, TypeError):
        return None
    if isinstance(sent, list) and len(sent) == 1 and isinstance(sent[0], list):
        sent = sent[0]
    if not isinstance(sent, list) or not sent or not all(type(size) is int and size >= 0 for size in sent):
        return None
    count = width
    for size in sent:
        count *= size
    return count if count < 1 << 63 else None


def _width(kernel: str, inputs: str | None, place: int) -> int | None:
    """Return the bytes of an element; a list of tensors has no type in the file."""
    if typed := _REDUCED.search(kernel):
        return _WIDTH[typed[1]]
    try:
        known = find_type(json.loads(inputs or "")[0][place])
    except (ValueError, LookupError, TypeError):
        return None
    return None if known is None else known.size


def sent_bytes(shapes: str | None, inputs: str | None) -> int | None:
    """Count the bytes of all tensors that a collective on a thread states to send, B.

    `shapes` and `inputs` are those columns of its own row. None where a shape or a type is missing.
    """
    found = read_inputs(shapes, inputs or "") if shapes else None
    if found is None or not found.operands:
        return None
    total = 0
    for one in found.operands:
        if one is None or one.type is None:
            return None
        total += one.elements * one.type.size
    return total if total < 1 << 63 else None


def whole_bytes(kind: str, input_bytes: int | None, members: int | None) -> int | None:
    """Count the bytes of all data of an operation as NCCL's tests do, by those that one member puts in.

    None if these are not known, if the kind moves no data, or if it takes the number of members, which is
    unknown.
    """
    found = KIND[kind]
    if input_bytes is None or not found.moves_data or (members is None and found.whole(2) != 1):
        return None
    return round(input_bytes * found.whole(members or 1))
