"""Files of other tools, engines and layouts, as public reports have them: what is read of each, and its verdict."""

import json
from pathlib import Path

import pytest

from tracegraph.cli.main import main  # noqa: F401
