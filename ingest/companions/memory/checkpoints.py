"""Replays a recording with a module's calls checkpointed: what each call keeps is made again in backward."""

import numpy as np
import pandas as pd

from tracegraph.ingest.companions.memory.lives import BEFORE, Lives
from tracegraph.ingest.companions.memory.stacks import CALLED, ENGINE, Stack
from tracegraph.vocabulary.memory import ACTIVATION, TEMPORARY


def blocks_in_calls(blocks: pd.DataFrame, lives: Lives) -> dict[str, pd.DataFrame]:
    """Return the blocks that calls of each module allocate in forward, the module that keeps most first.

    Those of a trace have a column `call`: which call it was, the outermost one where a module calls another
    of its class. The blocks of a snapshot are numbered alike: a call begins where the first stack of all is
    seen again.
    """
    known = blocks["stack"].isin([number for number, stack in lives.stacks.items() if stack.module])
    forward = blocks[known & (blocks["begin"] > BEFORE) & (blocks["kind"] != ENGINE)]
    around = forward["stack"].map(lambda stack: _calls_around(lives.stacks[stack]))
    each = forward.assign(around=around).explode("around")
    each[["name", "call"]] = pd.DataFrame(each["around"].tolist(), index=each.index, columns=["name", "call"])
    kept = each[each["class"] == ACTIVATION].groupby("name")["bytes"].sum()
    found = {}
    for name in kept.sort_values(ascending=False).index:
        own = each[each["name"] == name].drop(columns=["around", "name"]).sort_values("begin")
        if lives.calls.empty:
            own["call"] = (own["stack"] == own["stack"].iloc[0]).cumsum()
        found[str(name)] = own.astype({"call": np.int64})
    return found


def _calls_around(stack: Stack) -> list[tuple[str, int | None]]:
    names = (stack.module or "").split(CALLED)
    calls = stack.calls or [None] * len(names)
    outermost: dict[str, int | None] = {}
    for name, call in zip(names, calls, strict=True):
        outermost.setdefault(name, call)
    return list(outermost.items())


def checkpointed(blocks: pd.DataFrame, inside: pd.DataFrame, lives: Lives) -> tuple[pd.DataFrame, int]:
    """Return the blocks as they would be with each call checkpointed, and how long the calls took, ns.

    The output of each call stays, since it is the input of what follows, and stays until the backward of the
    next call where that reads it. All else that a call keeps is freed as its forward ends, and is there again
    from the start of the call's own backward. There the forward runs again, and its temporaries with it.

    Parameters
    ----------
    inside
        The blocks in calls of the module, of `blocks_in_calls`.
    """
    calls = _calls(inside, lives)
    own = inside[inside["call"].isin(calls.index)].join(calls, on="call")
    left = own[(own["begin"] <= own["finish"]) & (own["end"] > own["finish"])]
    outputs = left.groupby("call")["begin"].idxmax()
    moved = blocks.copy()
    read = own.loc[outputs]
    read = read[read["end"].between(read["next_first"], read["next_finish"], inclusive="right")]
    moved.loc[read.index, "end"] = read[["end", "next_backward"]].max(axis=1).astype(np.int64)
    inner = own.drop(index=pd.Index(outputs))
    again = inner[(inner["class"] == ACTIVATION) & (inner["end"] > inner["finish"])]
    moved.loc[again.index, "begin"] = np.minimum(again["backward"], again["end"])
    until_finish = again.assign(end=again["finish"] + 1)
    # Forward has run again before the first entry of backward: its most comes on top of the entry before.
    most = _most_inside(inner).reindex(calls.index, fill_value=0)
    run_again = pd.DataFrame(
        {"begin": calls["backward"] - 1, "end": calls["backward"], "bytes": most, "class": TEMPORARY}
    )
    run_again = run_again[(run_again["bytes"] > 0) & (run_again["end"] < lives.entries)]
    whole = pd.concat([moved, until_finish[blocks.columns], run_again], ignore_index=True)
    last = own.groupby("call")["begin"].max()
    at_ns = lives.at_ns
    time_ns = int(sum(at_ns.iloc[last].to_numpy() - at_ns.iloc[calls["first"]].to_numpy()))
    return whole[whole["end"] > whole["begin"]], time_ns


def _calls(inside: pd.DataFrame, lives: Lives) -> pd.DataFrame:
    """Return the places of each call that keeps something.

    The columns are first, finish (its first and last entry), backward (the first entry of its backward), and
    the same of the call after it.
    """
    kept = inside[inside["class"] == ACTIVATION].groupby("call")
    calls = pd.DataFrame(
        {
            "first": inside.groupby("call")["begin"].min(),
            "finish": kept["begin"].max(),
            "backward": kept["end"].min(),
        }
    ).dropna()
    stated = lives.calls.reindex(calls.index)
    calls["finish"] = calls["finish"].where(stated["end"].isna(), stated["end"])
    calls["backward"] = calls["backward"].where(~(stated["backward"] < calls["backward"]), stated["backward"])
    calls = calls.astype(np.int64).sort_values("first")
    after = calls.shift(-1, fill_value=lives.entries)
    return calls.join(after.add_prefix("next_"))


def _most_inside(inner: pd.DataFrame) -> "pd.Series[int]":
    """Find the most bytes of each call that are there at once until it ends."""
    gone = inner[inner["end"] <= inner["finish"]]
    changes = pd.concat(
        [
            inner[["call", "begin", "bytes"]].rename(columns={"begin": "place"}),
            pd.DataFrame({"call": gone["call"], "place": gone["end"], "bytes": -gone["bytes"]}),
        ]
    ).sort_values("place")
    running = changes.groupby("call")["bytes"].cumsum()
    return running.groupby(changes["call"]).max()
