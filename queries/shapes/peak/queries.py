"""The queries about what a run makes of the peak of its devices."""

from tracegraph.queries.shapes.derived_query import Derived
from tracegraph.queries.shapes.peak.checklist import CHECK_COLUMNS, mfu_checklist
from tracegraph.queries.shapes.peak.job import JOB_PARAMETERS, with_config_read
from tracegraph.queries.shapes.peak.products import BACKWARD, LOADING
from tracegraph.queries.shapes.peak.shares import LOSS_COLUMNS, peak_losses
from tracegraph.queries.shapes.peak.utilisation import UTILISATION_COLUMNS, utilisation

_OF_DEVICE = tuple(one for one in JOB_PARAMETERS if one.name in ("peak", "device"))
_OF_LOSSES = ("gpu_stretches", "idle_stretches", "product_calls", "steps", "traces")
PEAK_USE = (
    Derived(
        "utilisation",
        "Which share of the peak of their GPUs the steps of each rank reach: MFU and HFU.",
        ("known_work", "product_calls", "steps", "phases", "traces", "run_details"),
        UTILISATION_COLUMNS,
        utilisation,
        fixed=BACKWARD,
        parameters=JOB_PARAMETERS,
        settle=with_config_read,
    ),
    Derived(
        "peak_losses",
        "Where the peak of the GPUs goes: the time of each step of each rank, in parts that sum to it.",
        _OF_LOSSES,
        LOSS_COLUMNS,
        peak_losses,
        fixed={**BACKWARD, **LOADING},
        parameters=_OF_DEVICE,
        settle=with_config_read,
    ),
    Derived(
        "mfu_checklist",
        "What to look at if the share of the peak is low: a value and a threshold each, or what to record.",
        (*_OF_LOSSES, "computing_work"),
        CHECK_COLUMNS,
        mfu_checklist,
        fixed={**BACKWARD, **LOADING},
        parameters=_OF_DEVICE,
        settle=with_config_read,
    ),
)
