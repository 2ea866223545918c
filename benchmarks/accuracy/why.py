"""The reason why a long call or silence of a real path stays what it is, by rules alone."""

import math
from dataclasses import dataclass

IDLE, BUSY = 0.1, 0.5
"""A GPU is idle if it is busy for up to the first share of a stretch, and busy from the second on."""
_USUAL, _REPEATED = 3, 3
"""A call is as long as usual up to the first number times the usual length.

Stretches of one length show a timer or repeated work if there are at least as many as the second number.
"""


@dataclass(frozen=True)
class Facts:
    """The facts that decide about one stretch.

    Attributes
    ----------
    is_gap, is_call, is_python
        It is unknown or untraced, a call of the runtime, or a Python frame; else an annotation or a step.
    inside
        An event is open in a gap.
    on_stream
        It is a gap before GPU work.
    busy
        Share of the time in which any stream ran something, 0..1; negative in a file without GPU work.
    end_near
        GPU work ended within 50 µs of its end.
    first
        No call of its name comes before it.
    times_usual
        Its length divided by the usual one of its name; infinite for calls that only wait.
    same_length
        Number of stretches of the path that have its name and, within 1 %, its length.
    stacks
        The file holds Python frames.
    off_cpu
        Stretches of the file were spent off the CPU.
    transfers
        It is what a collective takes without waiting for others.
    """

    is_gap: bool
    is_call: bool
    is_python: bool
    inside: bool
    on_stream: bool
    busy: float
    end_near: bool
    first: bool
    times_usual: float
    same_length: int
    stacks: bool
    off_cpu: bool
    transfers: bool


def why(facts: Facts) -> str:
    """Return the reason, for the table."""
    if facts.is_gap and facts.on_stream:
        return "unknown: no stream runs anything, and no row tells what the work waited for"
    if facts.is_gap and facts.inside:
        return "unknown: GPU busy, nothing ended near" + _perhaps_off(facts)
    if facts.transfers:
        return "a collective's transfer: as long as the shortest of its kind"
    if facts.is_call:
        return _why_call(facts)
    return _why_silence(facts)


def _why_call(facts: Facts) -> str:
    if facts.busy < 0:
        reason = "no GPU rows in the file: nothing that it could wait for"
    elif facts.busy <= IDLE:
        waits = math.isinf(facts.times_usual)
        reason = "GPU idle: no row shows what it waited for" if waits else "GPU idle: the call's own work"
    elif facts.times_usual <= _USUAL:
        reason = "as long as calls of its name usually take"
    elif facts.busy < BUSY:
        reason = "GPU mostly idle, nothing ended near: the call's own work"
    else:
        reason = "GPU busy, nothing ended near"
    if facts.first:
        return f"first call of its name in the file; {reason}"
    return reason + (_perhaps_off(facts) if facts.times_usual > _USUAL else "")


def _why_silence(facts: Facts) -> str:
    if facts.is_python:
        return "a Python frame: its own work, what it calls has no rows"
    kind = "no event open" if facts.is_gap else "an annotation, nothing inside"
    kind += "" if facts.stacks else "; no Python stacks: untraced Python"
    if facts.off_cpu and not facts.is_gap:
        return kind + _perhaps_off(facts)
    if facts.same_length >= _REPEATED:
        return f"{kind}; {facts.same_length} of one length: a timer, or the same work each time"
    if facts.end_near:
        return f"{kind}; GPU work ends near, too rarely to tell from chance"
    if facts.busy >= BUSY:
        return f"{kind}; GPU busy, nothing ended near"
    return kind


def _perhaps_off(facts: Facts) -> str:
    return "; perhaps off the CPU, as others in the file" if facts.off_cpu else ""
