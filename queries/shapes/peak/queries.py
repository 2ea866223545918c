"""The queries about what a run makes of the peak of its devices."""

from tracegraph.queries.shapes.derived_query import Derived
from tracegraph.queries.shapes.peak.job import JOB_PARAMETERS, with_config_read
from tracegraph.queries.shapes.peak.products import BACKWARD, LOADING
from tracegraph.queries.shapes.peak.shares import LOSS_COLUMNS, peak_losses
from tracegraph.queries.shapes.peak.utilisation import UTILISATION_COLUMNS, utilisation

_OF_DEVICE = ("peak", "device")
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
        ("gpu_stretches", "idle_stretches", "product_calls", "steps", "traces"),
        LOSS_COLUMNS,
        peak_losses,
        fixed={**BACKWARD, **LOADING},
        parameters=tuple(one for one in JOB_PARAMETERS if one.name in _OF_DEVICE),
        settle=with_config_read,
    ),
)
