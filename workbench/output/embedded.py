"""What a page holds within itself: its scripts and styles with their hashes, and data for its scripts."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from importlib.resources import files

from markupsafe import Markup

from tracegraph.workbench.text.text import label

TEXT_CELLS = 400
_PLACE = files("tracegraph.workbench.output")
_EXACT = 1 << 53
_UNSAFE = re.compile("[<>&\u2028\u2029]")


def read_part(name: str) -> str:
    """A script, style or template beside this module, also in a folder of it."""
    return _PLACE.joinpath(*name.split("/")).read_text(encoding="utf-8")


def content_hash(text: str) -> str:
    """By which a page's policy allows a script or style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def safe_json(data: object) -> Markup:
    """Return JSON that cannot end its script element and keeps large whole numbers as text."""
    text = json.dumps(_portable(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def _portable(value: object) -> object:
    """Return the value for JavaScript: whole numbers beyond a double as text, texts short and visible."""
    if isinstance(value, Mapping):
        return {label(str(key), TEXT_CELLS): _portable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(item) for item in value]
    if isinstance(value, str):
        return label(value, TEXT_CELLS)
    if isinstance(value, int) and abs(value) >= _EXACT:
        return str(value)
    return value
