"""Findings about a whole trace: what is complete, and what its times can resolve."""

import pyarrow.compute as pc

from tracegraph.ingest.integrity import Integrity
from tracegraph.ingest.readers.flows import count_partners
from tracegraph.ingest.trace import TraceFile


def check_trace(trace: TraceFile, has_rank: bool, integrity: Integrity) -> None:
    """Record what a reader of the results must know about the input."""
    count_partners(trace.flows, integrity)
