"""What events are about: those of threads by the beginnings of their names, GPU work by its type."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tracegraph.vocabulary import kernel_types
from tracegraph.vocabulary.categories import GPU_WORK, has_role
from tracegraph.vocabulary.phases import LOADING_NAMES

DATA_LOADING, COMMUNICATION = "data loading", "communication"
TOPICS = {
    DATA_LOADING: LOADING_NAMES,
    COMMUNICATION: (
        *("nccl", "rccl", "gloo:", "mpi:", "ucc:", "xccl:", "hccl", "Hccl", "oneccl"),
        *("c10d::", "_c10d_functional::", "c10d_functional::", "record_param_comms"),
        *("_C_custom_ar::", "symm_mem::", "vllm::all_reduce", "sglang::all_reduce", "vllm::all_gather"),
        *("vllm::reduce_scatter", "deep_ep::", "dpsk::ep"),
    ),
}
"""Beginnings of the names of threads' events that are about a topic, with all that runs inside them."""
KERNEL_TYPE = {COMMUNICATION: kernel_types.COMMUNICATION}
"""The type of GPU work that is about a topic: one vocabulary, which the user can extend, decides it."""


def events_of(topic: str, about: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of `events_about` that are about a topic."""
    is_work = about["kernel_type"].notna()
    of_thread = ~is_work & about["beginning"].isin(TOPICS[topic])
    return about[of_thread | is_work & about["kernel_type"].eq(KERNEL_TYPE.get(topic, ""))]


def is_about(topic: str, row: Mapping[str, Any], events: pd.DataFrame, path: pd.DataFrame) -> bool:
    """Tell whether events of a name and category are about a topic.

    `events`: those about the topic in the window. GPU work has the type that the run knows it by. If none of
    the name is on `path`, the built-in vocabulary decides.
    """
    name, category = str(row["name"]), str(row["category"])
    if not has_role(category, *GPU_WORK):
        return name.startswith(TOPICS[topic])
    is_work = events["kernel_type"].notna()
    if bool((is_work & events["name"].eq(name)).any()):
        return True
    known = bool(path["name"].eq(name).any())
    return not known and kernel_types.kernel_type(name, category) == KERNEL_TYPE.get(topic)
