"""Values of a query's parameters."""

from collections.abc import Mapping
from typing import Any

Values = Mapping[str, Any]
