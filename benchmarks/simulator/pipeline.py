"""When the stages of a pipeline compute and send, exactly: what each pass waits for, and how long."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.simulator.schedules import BACKWARD, FORWARD, SCHEDULES, WEIGHTS, Pass

CALL_NS = 100
"""How long each call of the host takes; kernels begin with the end of the call that launches them."""


@dataclass(frozen=True)
class Job:
    """A pipeline of as many stages as there are times; each time is that of one micro-batch, all chunks.

    Attributes
    ----------
    schedule
        One of `SCHEDULES`.
    batches, chunks
        Micro-batches of a step, and parts of the model on each stage.
    forward_ns, backward_ns
        Of each stage: its pass forward, and its pass backward; of zero-bubble schedules half of that is for
        weights.
    message_ns
        How long a message takes once both sides have come.
    steps
        How often all that is repeated.
    layers
        Of each stage: how many layers share its passes evenly, a kernel each; by default one.
    """

    schedule: str
    batches: int
    forward_ns: Sequence[int]
    backward_ns: Sequence[int]
    chunks: int = 1
    message_ns: int = 1_000
    steps: int = 2
    layers: Sequence[int] = ()

    @property
    def stages(self) -> int:
        """The number of stages."""
        return len(self.forward_ns)

    def length_ns(self, stage: int, what: str) -> int:
        """Length of one pass through one chunk of a stage, ns."""
        whole = self.forward_ns[stage] if what == FORWARD else self.backward_ns[stage]
        if self.schedule == "zero-bubble" and what != FORWARD:
            whole = whole // 2 if what == WEIGHTS else whole - whole // 2
        return whole // self.chunks

    def before(self, stage: int, one: Pass) -> tuple[int, Pass] | None:
        """Return the stage and the pass whose message a pass waits for, None for the first of its batch."""
        return self._beside(stage, one, -1)

    def after(self, stage: int, one: Pass) -> tuple[int, Pass] | None:
        """Return the stage and the pass to which the result of a pass is sent, None for the last."""
        return self._beside(stage, one, 1)

    def _beside(self, stage: int, one: Pass, step: int) -> tuple[int, Pass] | None:
        """Go through the model by a step: chunk 0 of all stages, then chunk 1; backward passes turn round."""
        if one.what == WEIGHTS:
            return None
        place = one.chunk * self.stages + stage + (step if one.what == FORWARD else -step)
        if not 0 <= place < self.chunks * self.stages:
            return None
        chunk, other = divmod(place, self.stages)
        return other, Pass(one.what, one.batch, chunk)


@dataclass
class Stretch:
    """Something on a lane of a rank: a call of the host, a kernel or a message, from `start` to `end`, ns.

    `stream`: of a kernel. `one`: the pass that it belongs to. `peer`: the other side of a message.
    """

    what: str
    start: int
    end: int
    one: Pass
    stream: int = 0
    peer: int = -1
    launch: "Stretch | None" = None


@dataclass
class Rank:
    """What one stage does in all steps: calls of its host, its kernels, its passes and steps; times in ns."""

    calls: list[Stretch] = field(default_factory=list)
    kernels: list[Stretch] = field(default_factory=list)
    passes: list[Stretch] = field(default_factory=list)
    steps: list[tuple[int, int]] = field(default_factory=list)
    now: int = 0
    free: dict[int, int] = field(default_factory=dict)

    def call(self, what: str, one: Pass, until: int = 0) -> Stretch:
        """Make a call, which lasts until a time if it waits."""
        made = Stretch(what, self.now, max(self.now + CALL_NS, until), one)
        self.calls.append(made)
        self.now = made.end
        return made


COMPUTES, SENDS, RECEIVES, MEETS = "computes", "sends", "receives", "meets"
_ALL = Pass("optimizer", 0)
LAUNCH, SYNCHRONIZE = "cudaLaunchKernel", "cudaStreamSynchronize"
COMPUTE_STREAM = 7
_STREAMS = {(SENDS, FORWARD): 20, (SENDS, BACKWARD): 21, (RECEIVES, FORWARD): 22, (RECEIVES, BACKWARD): 23}
_STREAMS |= {(MEETS, _ALL.what): 24}


def span_ns(ranks: Sequence[Rank], step: int) -> int:
    """Return the time from the first work of any stage in a step to the last, ns."""
    start, end = ranks[0].steps[step]
    work = [
        one for rank in ranks for one in rank.kernels if one.what == COMPUTES and start <= one.start < end
    ]
    return max(one.end for one in work) - min(one.start for one in work)


def simulate(job: Job) -> list[Rank]:
    """Run the job: hosts launch a pass once its message has come, and wait until it has been computed.

    Messages run on streams of their own, one for each direction, so that sending keeps no stage from its
    next pass.

    Returns
    -------
    list
        What each rank does; rank k is stage k.
    """
    ranks = [Rank() for _ in range(job.stages)]
    for _ in range(job.steps):
        begun = [rank.now for rank in ranks]
        _step(job, ranks)
        # The norm of all gradients, before which no optimizer goes on: all stages end the step together.
        norms = [_launch(rank, MEETS, _ALL) for rank in ranks]
        end = max(norm.start for norm in norms) + job.message_ns
        for rank, norm, start in zip(ranks, norms, begun, strict=True):
            norm.end = rank.free[norm.stream] = end
            rank.call(SYNCHRONIZE, _ALL, end)
            rank.steps.append((start, rank.now))
            rank.now += CALL_NS
    return ranks


def _step(job: Job, ranks: Sequence[Rank]) -> None:
    order = SCHEDULES[job.schedule]
    left = [order(stage, job.stages, job.batches, job.chunks) for stage in range(job.stages)]
    sent: dict[tuple[int, Pass], Stretch] = {}
    while any(left):
        moved = False
        for stage, passes in enumerate(left):
            while passes and ((before := job.before(stage, passes[0])) is None or before in sent):
                _run(job, ranks, stage, passes.pop(0), sent)
                moved = True
        if not moved:
            raise ValueError(f"the passes of {job.schedule} wait for each other")


def _run(
    job: Job, ranks: Sequence[Rank], stage: int, one: Pass, sent: dict[tuple[int, Pass], Stretch]
) -> None:
    """Receive, compute and send."""
    rank, begun = ranks[stage], ranks[stage].now
    before, after = job.before(stage, one), job.after(stage, one)
    if before is not None:
        _meet(job, ranks[before[0]], sent[before], rank, _launch(rank, RECEIVES, one, before[0]))
    for part in _parts(job, stage, one.what):
        computed = _launch(rank, COMPUTES, one)
        computed.end = rank.free[COMPUTE_STREAM] = computed.start + part
    rank.call(SYNCHRONIZE, one, rank.free[COMPUTE_STREAM])
    rank.passes.append(Stretch(COMPUTES, begun, rank.now, one))
    if after is not None:
        sent[stage, one] = _launch(rank, SENDS, one, after[0])


def _meet(job: Job, sender: Rank, message: Stretch, rank: Rank, received: Stretch) -> None:
    """End a message on both sides and wait for it; it may have waited for the one before on its stream."""
    message.start = max(message.start, sender.free.get(message.stream, 0))
    both = max(received.start, message.start) + job.message_ns
    message.end = sender.free[message.stream] = both
    received.end = rank.free[received.stream] = both
    rank.call(SYNCHRONIZE, received.one, both)


def _parts(job: Job, stage: int, what: str) -> Iterator[int]:
    """Yield the lengths of the kernels of a pass, one for each layer where these are told, ns."""
    whole, count = job.length_ns(stage, what), job.layers[stage] if job.layers else 1
    for place in range(count):
        yield whole * (place + 1) // count - whole * place // count


def _launch(rank: Rank, what: str, one: Pass, peer: int = -1) -> Stretch:
    """Launch a kernel, which begins once its call has ended and its stream is free."""
    stream = COMPUTE_STREAM if what == COMPUTES else _STREAMS[what, one.what]
    made = rank.call(LAUNCH, one)
    start = max(made.end, rank.free.get(stream, 0))
    kernel = Stretch(what, start, start, one, stream, peer, made)
    rank.kernels.append(kernel)
    return kernel
