"""The selection of rows by the role of their category."""

from typing import Any

import pandas as pd

from tracegraph.vocabulary.categories import Role, names_with


def of_role(categories: "pd.Series[Any]", *roles: Role) -> "pd.Series[bool]":
    """Tell for each row whether its category has one of `roles`."""
    return categories.isin(names_with(categories.unique(), *roles))
