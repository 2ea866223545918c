"""Files in which a user writes one JSON object: thresholds, what is said of a job."""

import json
from pathlib import Path
from typing import Any

from tracegraph.base.errors import InputError


def read_object(file: Path, subject: str, verb: str, hint: str) -> dict[str, Any]:
    """Read a file that holds one JSON object.

    Parameters
    ----------
    subject, verb
        What the file holds and its verb, as messages name them: "the job" and "is".
    hint
        What to write instead.

    Raises
    ------
    InputError
        The file cannot be read, or holds something else.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {subject} in {file}: {error}", hint) from error
    if not isinstance(found, dict):
        raise InputError(f"{subject} in {file} {verb} no JSON object", hint)
    return found
