"""Selectors: which work a change is about, as `under=train_step,category=kernel`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tracegraph.base.errors import InputError
from tracegraph.base.suggest import did_you_mean

KEYS: Mapping[str, str] = {
    "name": "its own time: the name of the event",
    "under": "all that runs in events of this name, with the GPU work launched there, and what is handed "
    "over to other threads meanwhile, as a backward pass to the autograd engine",
    "category": "category of the event, as `kernel` or `python_function`",
    "module": "as `under`, the name of an nn.Module",
    "stream": "number of a GPU stream",
    "thread": "name or id of a thread",
    "step": "number of a step",
    "phase": "what runs in a phase, as `forward`, with the GPU work launched there",
    "rank": "number of a rank",
    "wait": "where a thread waits, by the rule that ends the wait, as `silent synchronize`",
}
"""What a selector may say, and what it means."""
_NUMBERS = ("stream", "step", "rank")
_NEXT = re.compile(rf"(?<!\\),(?=(?:{'|'.join(KEYS)})=)")
_WRITE = "write key=value, joined by commas, as under=train_step,category=kernel; a comma in a value is \\,"


@dataclass(frozen=True)
class Selector:
    """A conjunction: every condition must hold. `text`: the selector as it was written."""

    text: str
    conditions: Mapping[str, str]


def parse_selector(text: str) -> Selector:
    r"""Parse a selector: `key=value`, joined by commas.

    A value ends where `,KEY=` follows; `\,` is a comma that ends none.

    Raises
    ------
    InputError
        A key is unknown or given twice, or a value is missing or not a number where one is needed.
    """
    conditions: dict[str, str] = {}
    for part in _NEXT.split(text):
        key, equals, value = part.partition("=")
        key, value = key.strip(), value.replace("\\,", ",").strip()
        if not equals or not value:
            raise InputError(f"{text!r} selects nothing: {part!r} is no condition", _WRITE)
        if key not in KEYS:
            raise InputError(
                f"{text!r}: there is no key {key!r}",
                did_you_mean(key, KEYS, f"the keys are {', '.join(KEYS)}"),
            )
        if key in conditions:
            raise InputError(f"{text!r} says {key} twice", "give each key once; --remove may be given again")
        if key in _NUMBERS and not re.fullmatch(r"-?[0-9]{1,18}", value):
            raise InputError(f"{text!r}: {key} is a number, not {value!r}", _WRITE)
        conditions[key] = value
    return Selector(text, conditions)
