"""How long each step took, so that the steps of a run can be compared with those of another one."""

import pandas as pd


def step_lengths(steps: pd.DataFrame, rank: int | None = None) -> pd.DataFrame:
    """Return what each step adds to the time of a run, in the order of time.

    A step begins with its annotation, or, where work of earlier steps still runs on the GPU, when that ends;
    it ends with its last work. So no time counts twice, and none is missed that a GPU needs behind its host.
    The length of a job's step is the mean over its ranks, each by its own clock: from the first start to the
    last end would hold what the clocks differ by, which is another amount in every run. Steps that a rank
    lacks are left out.

    Parameters
    ----------
    steps
        The rows of `steps`.
    rank
        The rank; None: the mean over all.

    Returns
    -------
    pandas.DataFrame
        `number`, `type` (None where steps have none) and `length_ns`, a whole number.
    """
    rows = steps if rank is None else steps[steps["rank"] == rank]
    rows = rows.sort_values(["rank", "start_ns", "number"], ignore_index=True)
    earlier = rows.groupby("rank")["window_end_ns"].transform(lambda ends: ends.cummax().shift())
    begins = rows["start_ns"].where(earlier.isna() | (rows["start_ns"] > earlier), earlier)
    rows["length_ns"] = (rows["window_end_ns"] - begins).clip(lower=0).astype("float64")
    groups = rows.groupby("number", sort=False)
    found = groups.agg(type=("type", "first"), length_ns=("length_ns", "mean"), start_ns=("start_ns", "min"))
    found = found[groups["rank"].nunique() == rows["rank"].nunique()].sort_values("start_ns").reset_index()
    return found.assign(length_ns=found["length_ns"].round().astype("int64"))[["number", "type", "length_ns"]]
