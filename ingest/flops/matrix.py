"""Matrix products: 2·m·n·k FLOPs, as torch.utils.flop_counter (mm_flop, bmm_flop) and `with_flops` do.

The addition of a bias or matrix to a product does not count: these do not count it either.
"""

from collections.abc import Mapping

from tracegraph.ingest.flops.operands import Inputs, Operand, common_type
from tracegraph.ingest.flops.work import Formula, Work, make_work
from tracegraph.vocabulary.work_kinds import MATRIX


def _product(inputs: Inputs, first: int, added: int | None = None, result: int | None = None) -> Work | None:
    """Count the product of the tensors at `first` and after it, (…, m, k) and (…, k, n).

    `added` and `result` are the positions of a tensor that is added, and of one that receives the result.
    """
    pair = inputs.tensors(first, first + 1)
    if pair is None:
        return None
    one, other = pair
    if len(one.dims) < 2 or len(other.dims) != len(one.dims) or one.dims[-1] != other.dims[-2]:
        return None
    if one.dims[:-2] != other.dims[:-2]:
        return None
    elements = one.elements // max(one.dims[-1], 1) * other.dims[-1]
    kind = common_type(pair)
    written = None if result is None else inputs.tensor(result)
    reads = [*pair, *_known(inputs, added)]
    return make_work(
        MATRIX,
        2 * elements * one.dims[-1],
        kind,
        reads,
        [(elements, kind if written is None else written.type)],
    )


def _known(inputs: Inputs, place: int | None) -> list[Operand]:
    found = None if place is None else inputs.tensor(place)
    return [] if found is None else [found]


def _mm(inputs: Inputs) -> Work | None:
    return _product(inputs, 0)


def _addmm(inputs: Inputs) -> Work | None:
    return _product(inputs, 1, added=0)


def _scaled_mm(inputs: Inputs) -> Work | None:
    """Count (mat1, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum, out).

    Without an `out` the trace does not record the result's type as a tensor's, and the bytes are unknown.
    """
    found = _product(inputs, 0, added=4, result=8)
    known = inputs.tensor(8) is not None
    return found if found is None or known else Work(found.kind, found.flops, None, found.dtype)


def _mv(inputs: Inputs) -> Work | None:
    return _vector(inputs, 0)


def _addmv(inputs: Inputs) -> Work | None:
    return _vector(inputs, 1, added=0)


def _vector(inputs: Inputs, first: int, added: int | None = None) -> Work | None:
    pair = inputs.tensors(first, first + 1)
    if pair is None or len(pair[0].dims) not in (1, 2) or pair[0].dims[-1:] != pair[1].dims:
        return None
    one, kind = pair[0], common_type(pair)
    elements = one.elements // max(one.dims[-1], 1)
    return make_work(MATRIX, 2 * one.elements, kind, [*pair, *_known(inputs, added)], [(elements, kind)])


def _linear(inputs: Inputs) -> Work | None:
    """Count the product of an input (…, k) and a weight (n, k), with a bias."""
    pair = inputs.tensors(0, 1)
    if pair is None or len(pair[1].dims) != 2 or pair[0].dims[-1:] != pair[1].dims[-1:]:
        return None
    one, weight = pair
    elements = one.elements // max(one.dims[-1], 1) * weight.dims[0]
    kind = common_type(pair)
    return make_work(
        MATRIX, 2 * elements * one.dims[-1], kind, [*pair, *_known(inputs, 2)], [(elements, kind)]
    )


def _grouped_mm(inputs: Inputs) -> Work | None:
    """Count (m, k) rows in groups, each times the (k, n) matrix of its group; every row counts once."""
    pair = inputs.tensors(0, 1)
    if pair is None:
        return None
    rows, matrices = pair
    if len(rows.dims) != 2 or len(matrices.dims) != 3 or rows.dims[1] != matrices.dims[1]:
        return None
    elements, kind = rows.dims[0] * matrices.dims[2], common_type(pair)
    return make_work(MATRIX, 2 * elements * rows.dims[1], kind, pair, [(elements, kind)])


FORMULAS: Mapping[str, Formula] = {
    "aten::mm": _mm,
    "aten::bmm": _mm,
    "aten::addmm": _addmm,
    "aten::_addmm_activation": _addmm,
    "aten::baddbmm": _addmm,
    "aten::_scaled_mm": _scaled_mm,
    "aten::_grouped_mm": _grouped_mm,
    "aten::mv": _mv,
    "aten::dot": _mv,
    "aten::addmv": _addmv,
    "aten::linear": _linear,
}
