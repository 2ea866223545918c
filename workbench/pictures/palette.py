"""Colours of categories and dependency kinds, the same in every picture."""

from collections.abc import Iterable

from tracegraph.vocabulary.categories import ANY_OTHER, CATEGORIES, Role, find_category
from tracegraph.vocabulary.lane_kinds import STREAM, THREAD

OTHER_COLOUR = ANY_OTHER.colour
DEPENDENCY_COLOURS = {
    "SEQUENTIAL": "#6b7280",
    "INVOCATION": "#2563eb",
    "SYNCHRONIZATION": "#dc2626",
    "CROSS_THREAD": "#7c3aed",
}
ROOT_COLOUR = "#6b7280"
_COLOUR_OF_ROLE = {category.role: category.colour for category in CATEGORIES}
LANE_COLOURS = {STREAM: _COLOUR_OF_ROLE[Role.KERNEL], THREAD: _COLOUR_OF_ROLE[Role.OPERATOR]}
"""The colour of a lane by its kind: that of what runs there."""
_WHITE_PART = 0.62
"""How much white a light shade holds, 0..1."""


def category_colour(category: str) -> str:
    """Return the colour of a category, `#rrggbb`."""
    return find_category(category).colour


def frame_colour(category: str) -> str:
    """Return the colour of a frame of a call stack: that of its category, or of the kind of its lane."""
    return LANE_COLOURS.get(category) or category_colour(category)


def category_colours(shown: Iterable[str]) -> dict[str, str]:
    """Return the colours of those categories that have one of their own; all others have `OTHER_COLOUR`."""
    colours = {name: category_colour(name) for name in shown}
    return {name: colour for name, colour in colours.items() if colour != OTHER_COLOUR}


def dependency_colour(dependency: str) -> str:
    """Return the colour of a dependency kind, `#rrggbb`."""
    return DEPENDENCY_COLOURS.get(dependency, ROOT_COLOUR)


def tint(colour: str) -> str:
    """Return a light shade of a colour, on which dark text is easy to read."""
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * _WHITE_PART):02x}" for part in parts)
