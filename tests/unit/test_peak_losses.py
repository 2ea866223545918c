"""Where the peak goes: parts that sum to the window, beside a plain count of every nanosecond."""

from collections import Counter
from collections.abc import Sequence

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from module_rows import rows_of

from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.shapes.peak import losses
from tracegraph.queries.shapes.peak.shares import peak_losses
from tracegraph.vocabulary.gaps import (
    CPU_TURN,
    LAUNCH_LATENCY,
    UNTRACED_CPU,
    WAITING_FOR_GPU,
    WAITING_FOR_RANK,
)

Span = tuple[int, int]
NS_A_FLOP = 0.001
"""The peak, in TFLOP/s, at which an operation takes a nanosecond."""
WINDOW = {"run": "r", "start_ns": 0, "end_ns": 40, "rank": None, "device": None, "peak": NS_A_FLOP}
WORK = {  # what, is_product, dtype
    losses.BELOW_PEAK: ("computation", True, "float16"),
    losses.OTHER_COMPUTING: ("computation", False, None),
    losses.TRANSFER: ("communication", False, None),
    losses.RANKS: ("wait", False, None),
    losses.EXPOSED_MEMORY: ("memory", False, None),
}
IDLE = {  # rank of the cause, cause, category, loads
    losses.LOADING: (0, "collate", "cpu_op", True),
    losses.SYNCHRONISATION: (0, WAITING_FOR_GPU, "gap", False),
    losses.LAUNCHING: (0, LAUNCH_LATENCY, "gap", False),
    losses.HOST: (0, CPU_TURN, "gap", False),
    losses.OTHER_RANK: (1, WAITING_FOR_RANK, "gap", False),
    losses.UNRECORDED: (0, UNTRACED_CPU, "gap", False),
}
stretches = st.tuples(st.integers(-5, 45), st.integers(0, 9)).map(lambda one: (one[0], sum(one)))
spans = st.lists(stretches, max_size=5)


def lists(of: list[Span]) -> dict[str, list[int]]:
    return {"begin_ns": [begin for begin, _ in of], "end_ns": [end for _, end in of]}


def asked(
    of: dict[str, list[Span]],
    steps: list[Span],
    calls: Sequence[tuple[int, int, bool]] = (),
    *,
    peak: float | None = NS_A_FLOP,
    ranks: int = 2,
) -> pd.DataFrame:
    """The rows for stretches of each part, steps, and products: begin, FLOPs, whether they ran once more."""
    work = [
        {"device": 0, "what": what, "is_product": product, "dtype": dtype, **lists(of.get(name, []))}
        for name, (what, product, dtype) in WORK.items()
    ]
    idle = [
        {"cause_rank": rank, "cause": cause, "category": category, "loads": loads, "evidence": "recorded"}
        | lists(of.get(name, []))
        for name, (rank, cause, category, loads) in IDLE.items()
    ]
    products = [
        {"name": "aten::mm", "shapes": "[[2]]", "dtype": "float16", "backward": again, "numbered": again}
        | {"begin_ns": [begin], "flops": [flops]}
        for begin, flops, again in calls
    ]
    numbered = [
        {"number": number, "start_ns": start, "window_end_ns": end}
        for number, (start, end) in enumerate(steps)
    ]
    found = peak_losses(
        {**WINDOW, "peak": peak},
        rows_of("gpu_stretches", *work),
        rows_of("idle_stretches", *idle),
        rows_of("product_calls", *products),
        rows_of("steps", *numbered),
        rows_of("traces", *({"rank": rank, "devices": "[]"} for rank in range(ranks))),
    )
    return in_types(found, find("peak_losses").columns)


def counted(of: dict[str, list[Span]], start: int, end: int) -> Counter[str]:
    """Give each nanosecond to the first part that is open; a wait is communication that moves nothing."""
    spent: Counter[str] = Counter()
    for at in range(start, end):
        is_open = {name: sum(begin <= at < until for begin, until in found) for name, found in of.items()}
        talks, waits = is_open.get(losses.TRANSFER, 0), is_open.get(losses.RANKS, 0)
        is_open |= {losses.TRANSFER: max(0, talks - waits), losses.RANKS: talks}
        order = [loss.name for loss in losses.LOSSES if loss.name in (*WORK, *IDLE)]
        spent[next((name for name in order if is_open.get(name)), losses.UNKNOWN)] += 1
    return spent


@given(st.dictionaries(st.sampled_from([*WORK, *IDLE]), spans), spans)
def test_every_nanosecond_goes_to_the_first_part_that_is_open(
    of: dict[str, list[Span]], steps: list[Span]
) -> None:
    # A wait lies in a communication of its own.
    of = {**of, losses.TRANSFER: [*of.get(losses.TRANSFER, []), *of.get(losses.RANKS, [])]}
    inside = [(start, end) for start, end in steps if start < end and 0 <= (start + end) // 2 < 40]
    found = asked(of, inside)
    numbered: list[tuple[int | None, Span]] = list(enumerate(inside)) or [(None, (0, 40))]
    for number, (start, end) in numbered:
        own = found[found["step"].isna() if number is None else found["step"].eq(number)]
        assert dict(zip(own["loss"], own["duration_ns"], strict=True)) == dict(counted(of, start, end))
        assert own["duration_ns"].sum() == end - start
        assert own["window_ns"].eq(end - start).all()


@given(spans, st.lists(st.tuples(st.integers(0, 39), st.integers(1, 30), st.booleans()), max_size=6))
def test_useful_products_never_take_more_than_products_do(
    products: list[Span], calls: list[tuple[int, int, bool]]
) -> None:
    forward = any(not again for _, _, again in calls)
    found = asked({losses.BELOW_PEAK: products}, [], calls)
    spent = Counter(dict(zip(found["loss"], found["duration_ns"], strict=True)))
    there = counted({losses.BELOW_PEAK: products}, 0, 40)[losses.BELOW_PEAK]
    useful = min(there, sum(flops for _, flops, again in calls if not again or not forward))
    again = min(there - useful, sum(flops for _, flops, again in calls if again and forward))
    assert (spent[losses.USEFUL], spent[losses.RECOMPUTATION]) == (useful, again)
    assert spent[losses.BELOW_PEAK] == there - useful - again
    assert spent.total() == 40


def test_products_of_an_unknown_peak_are_a_part_of_their_own() -> None:
    found = asked({losses.BELOW_PEAK: [(0, 10)]}, [], [(0, 5, False)], peak=None)
    assert found[["loss", "duration_ns", "domain"]].values.tolist() == [
        [losses.UNRATED, 10, losses.COMPUTE],
        [losses.UNKNOWN, 30, losses.ORCHESTRATION],
    ]


def test_the_transfers_of_a_rank_alone_may_hold_waits() -> None:
    both = [asked({losses.TRANSFER: [(0, 10)]}, [], ranks=ranks) for ranks in (1, 2)]
    assert [one["evidence"].iloc[0] for one in both] == ["inferred", "recorded"]


def test_each_part_says_what_it_lacks() -> None:
    of = {losses.TRANSFER: [(0, 5)], losses.OTHER_COMPUTING: [(5, 9)], losses.UNRECORDED: [(20, 30)]}
    said = asked(of, [], ranks=1).set_index("loss")["lacks"].dropna()
    assert {loss: text.partition(":")[0] for loss, text in said.items()} == {
        losses.OTHER_COMPUTING: "Products may be inside, as the FLOPs of none are known",
        losses.TRANSFER: "Waits for other ranks are inside, which one file cannot tell",
        losses.UNRECORDED: "What goes on meanwhile is not in the file",
    }
    unrated = asked({losses.BELOW_PEAK: [(0, 10)]}, [], [(0, 5, False)], peak=None).set_index("loss")["lacks"]
    assert unrated[losses.UNRATED].startswith("The file does not name the GPU, so its peak is not known:")
    assert unrated.drop(losses.UNRATED).isna().all()


def confidence_of(idle: list[tuple[float, list[Span]]]) -> float:
    """The confidence of time in which the host works, from rows of a confidence and stretches."""
    rows = [
        {"cause": CPU_TURN, "category": "gap", "evidence": "recorded", "confidence": sure, **lists(of)}
        for sure, of in idle
    ]
    found = peak_losses(
        {**WINDOW, "peak": NS_A_FLOP},
        rows_of("gpu_stretches", {"device": 0, "what": "computation", **lists([])}),
        rows_of("idle_stretches", *rows),
        rows_of("product_calls"),
        rows_of("steps"),
        rows_of("traces", {"rank": 0, "devices": "[]"}),
    )
    return float(found.loc[found["loss"].eq(losses.HOST), "confidence"].item())


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.3, 0.7, 0.9]), st.integers(1, 10**12)), min_size=1))
def test_a_mean_of_confidence_is_the_same_to_the_last_digit_however_rows_are_cut(
    idle: list[tuple[float, int]],
) -> None:
    each = [(sure, [(0, spent)]) for sure, spent in idle]
    together: dict[float, list[Span]] = {}
    for sure, of in reversed(each):
        together.setdefault(sure, []).extend(of)
    assert confidence_of(each) == confidence_of(list(together.items()))


def test_times_of_day_of_many_stretches_are_weighed_to_the_ns() -> None:
    """The sum of their begins is below 2**63 ns, that of their ends above: no type of 64 bits holds both."""
    day = (2**63 - 1) // 6
    assert (
        confidence_of([(0.5, [(0, 40)]), (0.75, [(day, day + 3)] * 6), (1.0, [(day, day + 1)])]) == 34.5 / 59
    )
