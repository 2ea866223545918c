"""Whether B is longer than a limit allows, and what the answer rests on."""

from dataclasses import dataclass

from tracegraph.workbench.diff.steps import Steps
from tracegraph.workbench.text.text import format_ns


@dataclass(frozen=True)
class Gate:
    """Whether a limit is exceeded, and a sentence about it; empty where there is nothing to explain."""

    is_exceeded: bool
    words: str


def hold_to(limit_ns: int, diff_ns: int, steps: Steps | None) -> Gate:
    """Hold a difference to a limit, by the interval of 95 % where there are steps enough.

    Parameters
    ----------
    limit_ns
        How much longer B may be than A, ns: the whole run, or the one step of each that is compared.
    diff_ns
        How much longer B is, ns.
    steps
        All steps of both; None where single steps are compared, or a run has none.
    """
    low = None if steps is None else steps.low_ns
    allowed = f"more than the {format_ns(limit_ns)} that are allowed"
    longer = f"B is {format_ns(diff_ns)} longer than A, {allowed}"
    if low is None:
        why = "each has one length only" if steps is None else "there are not enough steps on both sides"
        said = f"{longer}; whether chance brings that cannot be told, as {why}."
        return Gate(diff_ns > limit_ns, said if diff_ns > limit_ns else "")
    if low > limit_ns:
        return Gate(True, f"B is at least {format_ns(low)} longer than A, by its 95 % interval: {allowed}.")
    return Gate(False, f"{longer}, but that cannot be told from chance." if diff_ns > limit_ns else "")
