"""What the use of a link lacks, a sentence each, and what to give or record."""

from collections.abc import Iterator
from dataclasses import dataclass

from tracegraph.queries.shapes.links.known_links import LINKS

MORE_THAN_ALL = 1.05
"""A share of a link above this one is no measurement: the data or the link must be another. Chosen by eye, as
room for measuring errors: a smaller one would refuse links that are used to the full."""


@dataclass(frozen=True)
class Facts:
    """What is known of some equal operations.

    Attributes
    ----------
    name
        Their kind; None if neither the file nor the names of kernels tell it.
    moves_data
        Whether operations of the kind do.
    nodes_known
        Whether the ranks of the group and the devices of the files tell that they are in one node.
    crosses
        Whether they tell that they are not.
    devices
        How many GPUs the files list.
    is_whole
        Whether all ranks of the group are here.
    """

    name: str | None
    moves_data: bool
    bytes: int | None
    size: int | None
    device: str | None
    devices: int
    nodes_known: bool
    crosses: bool
    link_known: bool
    share: float | None
    is_whole: bool


def lacking(facts: Facts) -> Iterator[str]:
    """Yield a sentence for each thing that is missing or must be known to read the bandwidths."""
    if facts.name is None:
        yield "The kernels' names do not say what they do: record with PyTorch 2.2 or later, which says it."
        return
    if not facts.moves_data:
        return
    if facts.bytes is None:
        yield (
            "Elements or their type are not in the file, so the data is unknown: record with PyTorch 2.2 or "
            "later, the calls that launch the kernels included."
        )
    elif facts.size is None:
        yield (
            "The size of the group is not in the file: give the files of all ranks, or record with PyTorch "
            "2.2 or later."
        )
    elif facts.size == 1:
        yield "The group has one rank, so nothing goes over a link."
        return
    elif not facts.link_known:
        yield _of_link(facts)
    if facts.share is not None and facts.share > MORE_THAN_ALL:
        yield "More than the link can carry is no measurement: give the right one with --link."
    if facts.bytes is not None and facts.size is not None and not facts.is_whole:
        yield "Waits for other ranks are inside, so bandwidths are least values: give the files of all ranks."


def _of_link(facts: Facts) -> str:
    give = f"give --link, in GB/s of a GPU in one direction or by name, such as {LINKS[-2].name}."
    if facts.crosses:
        listed = "1 GPU" if facts.devices == 1 else f"{facts.devices} GPUs"
        return f"The group has ranks beyond the {listed} that a file lists, so a network may carry it: {give}"
    if facts.device is None:
        return f"The files do not name one kind of GPU, so the link is not known: {give}"
    if not facts.nodes_known:
        return f"The file does not say which ranks are in the group, so the link is not known: {give}"
    return f"What joins GPUs named {facts.device} is not known here: {give}"
