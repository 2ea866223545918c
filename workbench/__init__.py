"""The Python interface: a workbench with stored runs, their queries as methods, reports and pictures.

from tracegraph.workbench import Workbench

with Workbench.open() as bench:
    run = bench.ingest("trace.json.gz")
    print(run.hotspots())
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracegraph.base.errors import InputError, StoreError, TracegraphError
    from tracegraph.queries.shapes.peak.job import Job
    from tracegraph.workbench.bench import Workbench
    from tracegraph.workbench.diff.compare import Difference
    from tracegraph.workbench.graph.causal_graph import CausalGraph
    from tracegraph.workbench.methods.flame import Flame
    from tracegraph.workbench.methods.picture_file import Picture
    from tracegraph.workbench.methods.run_report import Report
    from tracegraph.workbench.methods.section_plot import SectionPlot
    from tracegraph.workbench.run import Run
    from tracegraph.workbench.what_if.answer import WhatIf

__all__ = [
    "CausalGraph",
    "Difference",
    "Flame",
    "InputError",
    "Job",
    "Picture",
    "Report",
    "Run",
    "SectionPlot",
    "StoreError",
    "TracegraphError",
    "WhatIf",
    "Workbench",
]
_PLACES = {
    "CausalGraph": "tracegraph.workbench.graph.causal_graph",
    "Difference": "tracegraph.workbench.diff.compare",
    "Flame": "tracegraph.workbench.methods.flame",
    "InputError": "tracegraph.base.errors",
    "Job": "tracegraph.queries.shapes.peak.job",
    "Picture": "tracegraph.workbench.methods.picture_file",
    "Report": "tracegraph.workbench.methods.run_report",
    "Run": "tracegraph.workbench.run",
    "SectionPlot": "tracegraph.workbench.methods.section_plot",
    "StoreError": "tracegraph.base.errors",
    "TracegraphError": "tracegraph.base.errors",
    "WhatIf": "tracegraph.workbench.what_if.answer",
    "Workbench": "tracegraph.workbench.bench",
}


def __getattr__(name: str) -> object:
    """Import a class when it is asked for: the command line's help must not wait for pandas."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    """List the names that a notebook completes."""
    return __all__
