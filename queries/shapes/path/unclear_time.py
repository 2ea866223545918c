"""The unclear part of a path: the three kinds of its rows, and their sum, defined in one place."""

from typing import Any

import pandas as pd

from tracegraph.queries.shapes.category_roles import of_role
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.gaps import OUTSIDE_RECORDING, UNKNOWN, UNTRACED_CPU
from tracegraph.vocabulary.step_names import STEP_PREFIX


def unclear_parts(
    name: "pd.Series[Any]", category: "pd.Series[Any]", is_gap: "pd.Series[bool]"
) -> dict[str, "pd.Series[bool]"]:
    """Tell which rows of a path are unclear, by the name of their share.

    Returns
    -------
    dict[str, pd.Series[bool]]
        `unknown_share`: gaps that no rule explains. `untraced_share`: self time of annotations and steps,
        Python that was not recorded. `untraced_cpu_share`: gaps in which no event is open on the thread, or
        that lie outside the recording of a rank. `unclear_share`: all of these.
    """
    annotation = of_role(category, Role.ANNOTATION) | name.str.startswith(STEP_PREFIX)
    parts = {
        "unknown_share": is_gap & name.eq(UNKNOWN),
        "untraced_share": annotation & ~is_gap,
        "untraced_cpu_share": is_gap & name.isin((UNTRACED_CPU, OUTSIDE_RECORDING)),
    }
    total = parts["unknown_share"] | parts["untraced_share"] | parts["untraced_cpu_share"]
    return {**parts, "unclear_share": total}
