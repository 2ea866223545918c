"""What each measure says that it lacks, on a file of each kind that lacks something."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from stored_traces import file_asked

from tracegraph.queries.catalog import find
from tracegraph.store.connection import Database
from tracegraph.store.workspace import Workspace

NO_SHAPES = "The FLOPs of no product are known: record with record_shapes=True"
PRODUCTS = "Products may be inside, as the FLOPs of none are known"
NO_DEVICE = "The file does not name the GPU, so its peak is not known: give --device or --peak."
WAITS = "Waits for other ranks are inside"
UNSEEN = "What goes on meanwhile is not in the file: record the CPU's activities"
ALONE = "Whether communication waits needs the files of all ranks."
NO_WORK = "no GPU work lies in the window"
SILENT = "no communication runs on a GPU in the window"
NO_MESSAGE = "no operation of the window is communication between ranks"
QUIET = {"comm_comp_overlap": SILENT, "step_overlap": SILENT, "link_use": NO_MESSAGE}
KINDS = {
    "b1_hta_alexnet_cuda_sync.json.gz": {  # no shapes
        "utilisation": NO_SHAPES,
        "peak_losses": PRODUCTS,
        "mfu_checklist": "are not in the file: record with record_shapes=True.",
        **QUIET,
    },
    "i2_vllm_decode_mi300_graph_exec.json.gz": {  # serving, on a device without a name
        "utilisation": NO_DEVICE,
        "peak_losses": NO_DEVICE,
        "mfu_checklist": "The peak of the GPU is not known here: give --device",
        **QUIET,
    },
    "a5_hta_nccl217_a100_rank0_of_2.json.gz": {  # one rank of two
        "utilisation": NO_SHAPES,
        "peak_losses": WAITS,
        "mfu_checklist": ALONE,
        "comm_comp_overlap": WAITS,
        "step_overlap": WAITS,
        "link_use": "Waits for other ranks are inside, so bandwidths are least values",
    },
    "e2_hta_cpu_only_rank34_of_300.pt.trace.json.gz": {  # no GPU
        "utilisation": "no GPU work begins in the window",
        "peak_losses": NO_WORK,
        "mfu_checklist": NO_WORK,
        **QUIET,
    },
    "i1_sam_cudagraph_a100.json.gz": {  # launches of graphs
        "utilisation": "The shares are at least this large",
        "peak_losses": UNSEEN,
        "mfu_checklist": "At least, as FLOPs and bytes of some of the computing time are not known.",
        **QUIET,
    },
}
SAID_IN = {"utilisation": "source", "mfu_checklist": "note"}


def said(query: str, rows: pd.DataFrame) -> str:
    """All that an answer says of what it lacks; when it is empty, if it is."""
    if rows.empty:
        return find(query).empty_when or ""
    return " ".join(rows[SAID_IN.get(query, "lacks")].dropna().unique())


@pytest.mark.parametrize("name", KINDS)
def test_each_measure_says_what_it_lacks(
    name: str, database: Database, workspace: Workspace, shared_trace: Callable[[str], Path]
) -> None:
    with file_asked(database, workspace, shared_trace(name)) as asked:
        found = {query: said(query, asked(query)) for query in KINDS[name]}
    assert {query for query, words in KINDS[name].items() if words not in found[query]} == set(), found
