"""The queries about how long transfers take by their size."""

from tracegraph.queries.shapes.derived_query import Derived
from tracegraph.queries.shapes.transfers.fit import FIT_COLUMNS, transfer_fit
from tracegraph.queries.shapes.transfers.nccl_advice import ADVICE_COLUMNS, nccl_advice
from tracegraph.queries.shapes.transfers.points import POINT_COLUMNS, transfer_points
from tracegraph.queries.shapes.transfers.predictions import (
    PREDICTION_COLUMNS,
    PREDICTION_PARAMETERS,
    transfer_predictions,
)

_MODULES = ("transfers", "traces", "stated_transfers")
TRANSFERS = (
    Derived(
        "transfer_points",
        "Times of operations between ranks by kind, group and size: of traces, and of NCCL's tests.",
        _MODULES,
        POINT_COLUMNS,
        transfer_points,
    ),
    Derived(
        "transfer_fit",
        "Latency and bandwidth of transfers by kind, group and algorithm, or why they cannot be told.",
        _MODULES,
        FIT_COLUMNS,
        transfer_fit,
    ),
    Derived(
        "transfer_predictions",
        "What operations of other kinds, algorithms and sizes would take, by a fitted ring all-reduce.",
        _MODULES,
        PREDICTION_COLUMNS,
        transfer_predictions,
        parameters=PREDICTION_PARAMETERS,
    ),
    Derived(
        "nccl_advice",
        "What a log of NCCL gives reason to change: sockets, few channels, a slower algorithm.",
        ("communicators", "stated_transfers"),
        ADVICE_COLUMNS,
        nccl_advice,
    ),
)
