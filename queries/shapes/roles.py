"""Which rows of a result are of a role, by their category."""

from typing import Any

import pandas as pd

from tracegraph.vocabulary.categories import Role, names_with


def of_role(categories: "pd.Series[Any]", *roles: Role) -> "pd.Series[bool]":
    """Which rows are of a category with one of `roles`."""
    return categories.isin(names_with(categories.unique(), *roles))
