"""Fused attention: its matrix products, two forward and five backward.

The counts are those of torch.utils.flop_counter (sdpa_flop_count and sdpa_backward_flop_count), halved if the
attention is causal, as FlashAttention's own benchmarks count, since the kernels leave the other half out.
Sequences of several lengths in one tensor are unknown: their lengths are values, which a trace does not hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tracegraph.ingest.flops.operands import Inputs, Operand, common_type
from tracegraph.ingest.flops.work import Formula, Work, make_work
from tracegraph.vocabulary.element_types import find_type
from tracegraph.vocabulary.work_kinds import ATTENTION

# Besides the result, kernels write a float32 for each query (the log-sum-exp), which the backward pass reads.
_SCORES = find_type("float")


@dataclass(frozen=True)
class _Places:
    """Positions of the inputs of an operator, None for an input that it does not have.

    Attributes
    ----------
    causal
        A flag, or, if `masks` is true, the number of a kind of mask, of which 0 is none.
    heads_first
        Whether tensors are (batch, heads, sequence, features), else (batch, sequence, heads, features).
    ragged
        The input that is None unless sequences differ in length.
    """

    causal: int
    heads_first: bool = True
    ragged: int | None = None
    masks: bool = False
    bias: int | None = None


def _is_causal(inputs: Inputs, places: _Places) -> bool | None:
    if not places.masks:
        return inputs.flag(places.causal)
    kind = inputs.numbers(places.causal)
    return None if kind is None else kind[0] != 0


def _pairs(query: Operand, key: Operand, places: _Places, *, causal: bool) -> tuple[int, int, int] | None:
    """Count batches with heads, pairs of a query and a key in each, and queries; None for other shapes."""
    if len(query.dims) != 4 or len(key.dims) != 4 or query.dims[0] != key.dims[0]:
        return None
    heads, length = (1, 2) if places.heads_first else (2, 1)
    queries, keys = query.dims[length], key.dims[length]
    if causal and queries != keys:
        return None  # where the mask begins depends on the kernel
    return query.dims[0] * query.dims[heads], queries * keys // (2 if causal else 1), queries


def _counted(inputs: Inputs, places: _Places, first: int) -> tuple[int, int, list[Operand]] | None:
    """Return twice the pairs of all heads, the queries of all heads, and the query, key and value tensors."""
    found, causal = inputs.tensors(first, first + 1, first + 2), _is_causal(inputs, places)
    if found is None or causal is None or (places.ragged is not None and inputs.tensor(places.ragged)):
        return None
    pairs = _pairs(found[0], found[1], places, causal=causal)
    if pairs is None or len(found[2].dims) != 4:
        return None
    return 2 * pairs[0] * pairs[1], pairs[0] * pairs[2], found


def _forward(places: _Places) -> Formula:
    def formula(inputs: Inputs) -> Work | None:
        counted = _counted(inputs, places, 0)
        if counted is None:
            return None
        pairs, queries, (query, key, value) = counted
        kind = common_type([query, key, value])
        bias = None if places.bias is None else inputs.tensor(places.bias)
        reads = [query, key, value, *([] if bias is None else [bias])]
        flops = pairs * (query.dims[3] + value.dims[3])
        writes = [(queries * value.dims[3], kind), (queries, _SCORES)]
        return make_work(ATTENTION, flops, kind, reads, writes)

    return formula


def _backward(places: _Places) -> Formula:
    """Make the formula for the inputs (grad_out, query, key, value, …).

    The kernel reads these, the result and one number for each query, and writes three gradients.
    """

    def formula(inputs: Inputs) -> Work | None:
        counted, gradient = _counted(inputs, places, 1), inputs.tensor(0)
        if counted is None or gradient is None:
            return None
        pairs, queries, (query, key, value) = counted
        kind = common_type([query, key, value])
        bias = None if places.bias is None else inputs.tensor(places.bias)
        reads = [gradient, gradient, query, key, value, *([] if bias is None else [bias])]
        flops = pairs * (3 * query.dims[3] + 2 * value.dims[3])
        writes = [(one.elements, kind) for one in (query, key, value)]
        return make_work(ATTENTION, flops, kind, reads, [*writes, (queries, _SCORES)])

    return formula


FORMULAS: Mapping[str, Formula] = {
    "aten::_scaled_dot_product_flash_attention": _forward(_Places(causal=4)),
    "aten::_scaled_dot_product_efficient_attention": _forward(_Places(causal=6, bias=3)),
    "aten::_scaled_dot_product_cudnn_attention": _forward(_Places(causal=6, bias=3)),
    "aten::_flash_attention_forward": _forward(_Places(causal=8, heads_first=False, ragged=3)),
    "aten::_efficient_attention_forward": _forward(
        _Places(causal=9, heads_first=False, ragged=4, masks=True, bias=3)
    ),
    "aten::_scaled_dot_product_flash_attention_backward": _backward(_Places(causal=11, ragged=6)),
    "aten::_scaled_dot_product_efficient_attention_backward": _backward(_Places(causal=11, bias=4)),
    "aten::_scaled_dot_product_cudnn_attention_backward": _backward(_Places(causal=14, ragged=9, bias=8)),
    "aten::_flash_attention_backward": _backward(_Places(causal=11, heads_first=False, ragged=6)),
}
