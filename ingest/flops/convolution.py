"""Convolutions, forward and backward.

Forward they do 2 · (elements of the result) · (elements of a filter) FLOPs; a transposed one counts the
input's elements instead of the result's (torch.utils.flop_counter, conv_flop_count). Backward they do as
much for each gradient that was asked for (conv_backward_flop), divided by the groups, which
conv_backward_flop forgets for the gradient of the weight.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tracegraph.ingest.flops.operands import Dims, Inputs, Operand, common_type
from tracegraph.ingest.flops.work import Formula, Work, make_work
from tracegraph.vocabulary.work_kinds import CONVOLUTION


@dataclass(frozen=True)
class _Places:
    """Positions of the inputs of an operator, None for an input that it does not have."""

    padding: int
    stride: int
    dilation: int
    transposed: int | None = None
    is_transposed: bool = False
    output_padding: int | None = None
    groups: int | None = None
    bias: int | None = None


def window_sizes(
    sizes: Dims, filters: Dims, padding: Dims | None, stride: Dims | None, dilation: Dims | None
) -> Dims | None:
    """Count the places of a window of `filters` along each of `sizes`; None if a setting is not known."""
    if padding is None or stride is None or dilation is None:
        return None
    settings = [_of_each(setting, len(sizes)) for setting in (padding, stride, dilation)]
    if len(filters) != len(sizes) or any(one is None for one in settings) or not all(settings[1] or ()):
        return None
    rows = zip(sizes, filters, *(one for one in settings if one is not None), strict=True)
    found = [(size + 2 * pad - step * (width - 1) - 1) // hop + 1 for size, width, pad, hop, step in rows]
    return tuple(found) if all(one >= 0 for one in found) else None


def _of_each(setting: Dims, dimensions: int) -> Dims | None:
    """Repeat one number for all dimensions, or keep one number for each; None for other counts."""
    if len(setting) == 1:
        return setting * dimensions
    return setting if len(setting) == dimensions else None


def _forward(places: _Places) -> Formula:
    def formula(inputs: Inputs) -> Work | None:
        pair = inputs.tensors(0, 1)
        if pair is None or len(pair[0].dims) < 3 or len(pair[1].dims) != len(pair[0].dims):
            return None
        is_transposed = places.is_transposed if places.transposed is None else inputs.flag(places.transposed)
        if is_transposed is None:
            return None
        elements = _results(inputs, places, *pair, is_transposed=is_transposed)
        if elements is None:
            return None
        one, weight = pair
        by = one.elements if is_transposed else elements
        kind = common_type(pair)
        bias = None if places.bias is None else inputs.tensor(places.bias)
        reads = [*pair, *([] if bias is None else [bias])]
        flops = 2 * by * math.prod(weight.dims[1:])
        return make_work(CONVOLUTION, flops, kind, reads, [(elements, kind)])

    return formula


def _results(
    inputs: Inputs, places: _Places, one: Operand, weight: Operand, *, is_transposed: bool
) -> int | None:
    """Count the elements of the result; None if a setting is not known."""
    padding, stride, dilation = map(inputs.numbers, (places.padding, places.stride, places.dilation))
    sizes, filters = one.dims[2:], weight.dims[2:]
    if not is_transposed:
        found = window_sizes(sizes, filters, padding, stride, dilation)
        return None if found is None else one.dims[0] * weight.dims[0] * math.prod(found)
    groups = None if places.groups is None else inputs.numbers(places.groups)
    more = None if places.output_padding is None else inputs.numbers(places.output_padding)
    if padding is None or stride is None or dilation is None or groups is None or more is None:
        return None
    settings = [_of_each(setting, len(sizes)) for setting in (padding, stride, dilation, more)]
    if any(one is None for one in settings) or len(filters) != len(sizes):
        return None
    rows = zip(sizes, filters, *(one for one in settings if one is not None), strict=True)
    found = tuple(
        (size - 1) * hop - 2 * pad + step * (width - 1) + extra + 1
        for size, width, pad, hop, step, extra in rows
    )
    return one.dims[0] * weight.dims[1] * groups[0] * math.prod(found)


def _backward(inputs: Inputs) -> Work | None:
    """Count (grad_output, input, weight, bias_sizes, stride, padding, dilation, …, output_mask).

    `transposed` is input 7, `output_mask` input 10.
    """
    found, asked, is_transposed = inputs.tensors(0, 1, 2), inputs.flags(10), inputs.flag(7)
    if found is None or asked is None or len(asked) != 3 or is_transposed is None:
        return None
    return _gradients(*found, of_input=asked[0], of_weight=asked[1], is_transposed=is_transposed)


def _gradients(
    gradient: Operand,
    one: Operand,
    weight: Operand,
    *,
    of_input: bool,
    of_weight: bool,
    is_transposed: bool,
) -> Work | None:
    if len(weight.dims) < 3 or len(gradient.dims) != len(weight.dims) or len(one.dims) != len(weight.dims):
        return None
    kind = common_type([gradient, one, weight])
    each = 2 * (one if is_transposed else gradient).elements * math.prod(weight.dims[1:])
    reads = [gradient, *([weight] if of_input else []), *([one] if of_weight else [])]
    writes = [
        *([(one.elements, kind)] if of_input else []),
        *([(weight.elements, kind)] if of_weight else []),
    ]
    return make_work(CONVOLUTION, each * (of_input + of_weight), kind, reads, writes)


def _cudnn_gradient_of_input(inputs: Inputs) -> Work | None:
    """Count (input_size, grad_output, weight, padding, …).

    The trace does not record the size of the input, so that the bytes are unknown.
    """
    pair = inputs.tensors(1, 2)
    if pair is None or len(pair[1].dims) < 3 or len(pair[0].dims) != len(pair[1].dims):
        return None
    gradient, weight = pair
    kind = common_type(pair)
    flops = 2 * gradient.elements * math.prod(weight.dims[1:])
    return Work(CONVOLUTION, flops, None, None if kind is None else kind.name)


_LIBRARY = _Places(padding=2, stride=3, dilation=4)
_WITH_BIAS = _Places(padding=3, stride=4, dilation=5, bias=2)
_GENERAL = _Places(stride=3, padding=4, dilation=5, transposed=6, output_padding=7, groups=8, bias=2)
FORMULAS: Mapping[str, Formula] = {
    "aten::cudnn_convolution": _forward(_LIBRARY),
    "aten::miopen_convolution": _forward(_WITH_BIAS),
    "aten::miopen_depthwise_convolution": _forward(_WITH_BIAS),
    "aten::mkldnn_convolution": _forward(_WITH_BIAS),
    "aten::convolution": _forward(_GENERAL),
    "aten::_convolution": _forward(_GENERAL),
    "aten::convolution_overrideable": _forward(_GENERAL),
    "aten::_conv_depthwise2d": _forward(_Places(stride=4, padding=5, dilation=6, bias=3)),
    "aten::cudnn_convolution_transpose": _forward(
        _Places(padding=2, output_padding=3, stride=4, dilation=5, groups=6, is_transposed=True)
    ),
    "aten::miopen_convolution_transpose": _forward(
        _Places(padding=3, output_padding=4, stride=5, dilation=6, groups=7, bias=2, is_transposed=True)
    ),
    "aten::convolution_backward": _backward,
    "aten::cudnn_convolution_backward_input": _cudnn_gradient_of_input,
}
