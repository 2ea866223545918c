"""Which operators' FLOPs and bytes count, and to which operator the work of each GPU activity belongs.

Operators contain each other: aten::linear calls aten::addmm, which alone launches the kernel. The work
counts once, at the innermost operator whose formula knows it. For matrix products, convolutions and
attention that is the innermost of these; all other operators count if they launch something themselves or
have none inside. A GPU activity belongs to the innermost counted operator above its launch, so that the bias
that aten::convolution adds belongs to aten::add_. If no counted operator is above it, it belongs to the
innermost operator, whose work is unknown.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.flops import attention, bytes_bound, convolution, matrix
from tracegraph.ingest.flops.operands import read_inputs
from tracegraph.ingest.flops.work import Formula, Work
from tracegraph.ingest.text_columns import TextColumn, distinct_pairs, read_texts
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.work_kinds import ON_MATRIX_UNITS

FORMULAS: Mapping[str, Formula] = {
    **bytes_bound.FORMULAS,
    **matrix.FORMULAS,
    **convolution.FORMULAS,
    **attention.FORMULAS,
}
"""The formula that counts the work of each operator, by name; the work of others is unknown."""
WORK_COLUMNS = ("work", "flops", "moved_bytes")
"""The columns of an event table that `with_work` adds."""


@dataclass(frozen=True)
class CountedWork:
    """For each event the operator whose work it is, and the work.

    Attributes
    ----------
    operator
        Index of the operator to which a GPU activity belongs; -1 for none, and for all other events.
    code
        Position in `works` of the work of a counted operator; -1 for other events.
    """

    operator: Ints
    code: Ints
    works: list[Work]


def count_work(model: Solution, stated: pa.Table) -> CountedWork:
    """Count the work of the operators of a model that launched any; `stated`: the columns of EVENT_SCHEMA."""
    parent, call = model.stack.parent, model.launches.call
    is_operator = model.events.of_role(Role.OPERATOR) & model.events.on_thread
    callers = np.unique(call[call >= 0])
    above = _with_ancestors(parent, callers) & is_operator
    rows = np.flatnonzero(above)
    code = np.full(len(parent), -1, dtype=np.int64)
    works, code[rows] = _works(model.events.name, stated, rows)
    on_matrix_units = np.array([one.kind in ON_MATRIX_UNITS for one in works] + [False])[code]
    contains_products = _with_ancestors(parent, parent[on_matrix_units])
    contains_any = _with_ancestors(parent, parent[code >= 0])
    launches = np.zeros(len(parent), dtype=bool)
    gpu = np.flatnonzero(call >= 0)
    innermost = _nearest(parent, call[gpu], is_operator, is_operator)
    launches[innermost[innermost >= 0]] = True
    counted = (code >= 0) & np.where(on_matrix_units, ~contains_products, ~contains_any | launches)
    owner = np.full(len(parent), -1, dtype=np.int64)
    owner[gpu] = _nearest(parent, call[gpu], counted, is_operator)
    return CountedWork(owner, np.where(counted, code, -1), works)


def with_work(stated: pa.Table, counted: CountedWork) -> pa.Table:
    """Add the columns `work`, `flops` and `moved_bytes`, and the `dtype` of the work of counted events."""
    code = counted.code
    absent = code < 0

    def column(values: list[int | str | None], kind: pa.DataType) -> pa.Array:
        indices = pa.array(code.astype(np.int32), mask=absent)
        return pa.array(values, kind).take(indices)

    works = counted.works
    dtypes = read_texts(stated["dtype"])
    known = {text: place for place, text in enumerate(dtypes.values.tolist())}
    own = [known.setdefault(one.dtype or "", len(known)) for one in works]
    codes = np.where(absent, dtypes.codes, np.array([*own, 0])[code]).astype(np.int32)
    dtype = TextColumn(codes, np.array([text or None for text in known], dtype=object))
    table = stated.set_column(stated.schema.get_field_index("dtype"), "dtype", dtype.arrow())
    kinds = pa.array([one.kind for one in works], pa.string()).dictionary_encode()
    more = (
        kinds.take(pa.array(code.astype(np.int32), mask=absent)),
        column([one.flops for one in works], pa.int64()),
        column([one.moved_bytes for one in works], pa.int64()),
    )
    for name, values in zip(WORK_COLUMNS, more, strict=True):
        table = table.append_column(name, values)
    return table


def _works(names: TextColumn, stated: pa.Table, rows: Ints) -> tuple[list[Work], Ints]:
    """Find the distinct works of some events, and which of them each does, -1 if no formula knows it."""
    columns = [names.take(rows), *(read_texts(stated[name]).take(rows) for name in ("shapes", "inputs"))]
    pairs, place = distinct_pairs(columns[0].codes, columns[1].codes)
    triples, place = distinct_pairs(place, columns[2].codes)
    distinct = [(*pairs[pair], inputs) for pair, inputs in triples]
    found = [
        _work(*(str(column.values[code]) for column, code in zip(columns, row, strict=True)))
        for row in distinct
    ]
    works = [one for one in found if one is not None]
    known = np.cumsum([one is not None for one in found]) - 1
    codes_of = np.where([one is not None for one in found], known, -1).astype(np.int64)
    return works, codes_of[place]


def _work(name: str, shapes: str, inputs: str) -> Work | None:
    formula = FORMULAS.get(name)
    read = None if formula is None else read_inputs(shapes, inputs)
    work = None if formula is None or read is None else formula(read)
    fits = work is not None and max(work.flops, work.moved_bytes or 0) < -NONE
    return work if fits else None


def _generations(parent: Ints, events: Ints) -> Iterator[Ints]:
    """Yield the events, then the events that contain them, and so on; each event comes once."""
    seen = np.zeros(len(parent), dtype=bool)
    now = np.unique(events[events >= 0])
    while len(now):
        yield now
        seen[now] = True
        now = np.unique(parent[now])
        now = now[now >= 0]
        now = now[~seen[now]]


def _with_ancestors(parent: Ints, events: Ints) -> Flags:
    flags = np.zeros(len(parent), dtype=bool)
    for generation in _generations(parent, events):
        flags[generation] = True
    return flags


def _nearest(parent: Ints, events: Ints, wanted: Flags, otherwise: Flags) -> Ints:
    """Find for each event the innermost of it and its ancestors that is `wanted`.

    If none is, it is the innermost that is `otherwise`, or -1.
    """
    distinct, place = np.unique(events, return_inverse=True)
    found = np.full(len(distinct), -1, dtype=np.int64)
    fallback = found.copy()
    now, open_ones = distinct.copy(), np.arange(len(distinct))
    while len(open_ones):
        at = now[open_ones]
        first = otherwise[at] & (fallback[open_ones] < 0)
        fallback[open_ones[first]] = at[first]
        hit = wanted[at]
        found[open_ones[hit]] = at[hit]
        now[open_ones] = parent[at]
        open_ones = open_ones[~hit & (parent[at] >= 0)]
    return np.where(found >= 0, found, fallback)[place.reshape(-1)]
