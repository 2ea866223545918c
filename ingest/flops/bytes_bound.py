"""Operators that do little with each element: bytes decide how long they take.

A rule counts their FLOPs. Elementwise operators do 1 FLOP for each element of the result (as `with_flops`
counts aten::add and aten::mul), reductions 1 for each element of the input, norms and softmax 5 for each
element, as fvcore counts norms, and twice as many backward. Operators that move data do none. Each input is
read once and each result written once: a kernel that goes over its input twice moves more.
"""

import math
from collections.abc import Iterator, Mapping
from functools import partial

from tracegraph.ingest.flops.convolution import window_sizes
from tracegraph.ingest.flops.operands import Inputs, broadcast, common_type
from tracegraph.ingest.flops.work import Formula, Work, make_work
from tracegraph.vocabulary.element_types import BOOL, INT64
from tracegraph.vocabulary.work_kinds import ELEMENTWISE, MOVEMENT, NORMALISATION, POOLING, REDUCTION

_ONE = (
    "abs neg exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal square sin cos tan tanh sigmoid relu "
    "gelu silu mish elu selu celu leaky_relu hardtanh hardswish hardsigmoid softplus erf erfc erfinv ceil "
    "floor round trunc sign clamp clamp_min clamp_max threshold logit log_sigmoid cumsum cumprod bitwise_not "
    "tril triu"
)
_TWO = (
    "add sub rsub mul div true_divide floor_divide remainder fmod pow maximum minimum fmax fmin atan2 lerp "
    "bitwise_and bitwise_or bitwise_xor masked_fill threshold_backward gelu_backward silu_backward "
    "tanh_backward sigmoid_backward elu_backward leaky_relu_backward hardtanh_backward hardswish_backward "
    "softplus_backward native_dropout_backward"
)
_THREE = "addcmul addcdiv"
_TESTS_OF_ONE = "isnan isinf isfinite logical_not"
_TESTS_OF_TWO = "eq ne lt le gt ge logical_and logical_or logical_xor"
_FILLS = "fill_ zero_ uniform_ normal_ bernoulli_ exponential_ random_"
_REDUCTIONS = (
    "sum mean prod amax amin norm linalg_vector_norm logsumexp var std any all argmax argmin max min"
)
_OF_INDICES = frozenset(("aten::argmax", "aten::argmin"))
_OF_TESTS = frozenset(("aten::any", "aten::all"))
# FLOPs for each element: 5 as fvcore counts norms, and twice as many backward.
_NORM, _NORM_BACKWARD = 5, 10


def _elementwise(inputs: Inputs, *, reads: int, gives_bool: bool = False) -> Work | None:
    """Count an operator on its first `reads` inputs, without those that are numbers.

    Further tensors are results (`out`).
    """
    found = [one for one in map(inputs.tensor, range(reads)) if one is not None]
    if not found or inputs.tensor(0) is None:
        return None
    dims = broadcast([one.dims for one in found])
    if dims is None:
        return None
    kind, elements = common_type(found), math.prod(dims)
    return make_work(ELEMENTWISE, elements, kind, found, [(elements, BOOL if gives_bool else kind)])


def _chosen(inputs: Inputs) -> Work | None:
    """Count aten::where (condition, self, other); the condition does not decide the type."""
    found = inputs.tensors(0, 1, 2)
    dims = None if found is None else broadcast([one.dims for one in found])
    if found is None or dims is None:
        return None
    kind, elements = common_type(found[1:]), math.prod(dims)
    return make_work(MOVEMENT, 0, kind, found, [(elements, kind)])


def _copy(inputs: Inputs) -> Work | None:
    """Count a copy from the second input to the first, each in its own type."""
    pair = inputs.tensors(0, 1)
    if pair is None:
        return None
    target, source = pair
    return make_work(MOVEMENT, 0, target.type, [source], [(target.elements, target.type)])


def _fill(inputs: Inputs) -> Work | None:
    target = inputs.tensor(0)
    if target is None:
        return None
    return make_work(MOVEMENT, 0, target.type, [], [(target.elements, target.type)])


def _reduction(inputs: Inputs, *, name: str) -> Work | None:
    """Count a reduction of all elements, or along the dimensions of the second input.

    If the trace does not record these dimensions, the result does not count.
    """
    one = inputs.tensor(0)
    if one is None:
        return None
    along = next((found for place in (1, 2) if (found := inputs.numbers(place)) is not None), None)
    kept = 0 if along is None and not inputs.scalars else 1
    if along and all(-len(one.dims) <= place < len(one.dims) for place in along):
        gone = {place % len(one.dims) for place in along}
        kept = math.prod(size for place, size in enumerate(one.dims) if place not in gone)
    gives = INT64 if name in _OF_INDICES else BOOL if name in _OF_TESTS else one.type
    return make_work(REDUCTION, one.elements, one.type, [one], [(kept, gives)])


def _normalised(
    inputs: Inputs, *, reads: tuple[int, ...], more: tuple[int, ...] = (), each: int = _NORM
) -> Work | None:
    """Count a norm of the tensors at `reads`, of one shape, and of smaller ones at `more`.

    The result is like the first tensor.
    """
    found = inputs.tensors(*reads)
    if found is None:
        return None
    others = [one for one in map(inputs.tensor, more) if one is not None]
    kind = common_type(found)
    elements = found[0].elements
    return make_work(NORMALISATION, each * elements, kind, [*found, *others], [(elements, kind)])


def _dropout(inputs: Inputs) -> Work | None:
    one = inputs.tensor(0)
    if one is None:
        return None
    writes = [(one.elements, one.type), (one.elements, BOOL)]
    return make_work(ELEMENTWISE, one.elements, one.type, [one], writes)


def _gathered(inputs: Inputs, *, index: int) -> Work | None:
    """Count the rows (index_select) or elements (gather) that an index names along a dimension."""
    pair, along = inputs.tensors(0, index), inputs.numbers(1)
    if (
        pair is None
        or along is None
        or len(along) != 1
        or not -len(pair[0].dims) <= along[0] < len(pair[0].dims)
    ):
        return None
    one, named = pair
    width = one.elements // max(one.dims[along[0]], 1)
    elements = named.elements if len(named.dims) == len(one.dims) > 1 else named.elements * width
    moved = [(elements, one.type), (elements, one.type)]
    return make_work(MOVEMENT, 0, one.type, [named], moved)


def _pooled(inputs: Inputs, *, with_indices: bool) -> Work | None:
    """Count pooling: self, kernel_size, stride, padding, dilation (or, for an average, ceil_mode), …."""
    one, filters = inputs.tensor(0), inputs.numbers(1)
    dilation, rounded_up = (inputs.numbers(4), inputs.flag(5)) if with_indices else ((1,), inputs.flag(4))
    if one is None or filters is None or rounded_up is not False or len(one.dims) != 4:
        return None
    filters = filters * 2 if len(filters) == 1 else filters
    stride = inputs.numbers(2) or filters
    found = window_sizes(one.dims[2:], filters, inputs.numbers(3), stride, dilation)
    if found is None:
        return None
    elements = math.prod((*one.dims[:2], *found))
    writes = [(elements, one.type), *([(elements, INT64)] if with_indices else [])]
    return make_work(POOLING, elements * math.prod(filters), one.type, [one], writes)


def _unpooled(inputs: Inputs) -> Work | None:
    """Count max pooling backward: grad_output, self, …, indices (7).

    It reads the gradient and the indices, and writes a tensor like self.
    """
    found = inputs.tensors(0, 1, 7)
    if found is None:
        return None
    gradient, one, where = found
    reads, writes = [gradient, where], [(one.elements, one.type)]
    return make_work(POOLING, gradient.elements, one.type, reads, writes)


def _named() -> Iterator[tuple[str, Formula]]:
    for names, reads, gives_bool in (
        (_ONE, 1, False),
        (_TWO, 2, False),
        (_THREE, 3, False),
        (_TESTS_OF_ONE, 1, True),
        (_TESTS_OF_TWO, 2, True),
    ):
        formula = partial(_elementwise, reads=reads, gives_bool=gives_bool)
        for name in names.split():
            yield f"aten::{name}", formula
            yield f"aten::{name}_", formula
    for name in _FILLS.split():
        yield f"aten::{name}", _fill
    for name in _REDUCTIONS.split():
        yield f"aten::{name}", partial(_reduction, name=f"aten::{name}")


FORMULAS: Mapping[str, Formula] = {
    **dict(_named()),
    "aten::where": _chosen,
    "aten::copy_": _copy,
    "aten::index_select": partial(_gathered, index=2),
    "aten::gather": partial(_gathered, index=2),
    "aten::native_dropout": _dropout,
    "aten::_softmax": partial(_normalised, reads=(0,)),
    "aten::_log_softmax": partial(_normalised, reads=(0,)),
    "aten::_softmax_backward_data": partial(_normalised, reads=(0, 1), each=_NORM_BACKWARD),
    "aten::_log_softmax_backward_data": partial(_normalised, reads=(0, 1), each=_NORM_BACKWARD),
    "aten::native_layer_norm": partial(_normalised, reads=(0,), more=(2, 3)),
    "aten::_fused_rms_norm": partial(_normalised, reads=(0,), more=(2,)),
    "aten::native_layer_norm_backward": partial(
        _normalised, reads=(0, 1), more=(3, 4, 5, 6), each=_NORM_BACKWARD
    ),
    "aten::native_group_norm": partial(_normalised, reads=(0,), more=(1, 2)),
    "aten::native_group_norm_backward": partial(
        _normalised, reads=(0, 1), more=(2, 3, 4), each=_NORM_BACKWARD
    ),
    **{
        f"aten::{name}": partial(_normalised, reads=(0,), more=(1, 2, 3, 4))
        for name in ("native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm")
    },
    **{
        f"aten::{name}_backward": partial(
            _normalised, reads=(0, 1), more=(2, 3, 4, 5, 6), each=_NORM_BACKWARD
        )
        for name in ("native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm")
    },
    "aten::max_pool2d_with_indices": partial(_pooled, with_indices=True),
    "aten::avg_pool2d": partial(_pooled, with_indices=False),
    "aten::max_pool2d_with_indices_backward": _unpooled,
}
