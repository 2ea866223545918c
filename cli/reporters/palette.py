"""Colours of categories and dependency kinds, the same in every picture."""

CATEGORY_COLOURS = {
    "cpu_op": "#4c78a8",
    "cuda_runtime": "#2a9d8f",
    "cuda_driver": "#1b6f8a",
    "kernel": "#e8871e",
    "gpu_memcpy": "#d1495b",
    "gpu_memset": "#b07aa1",
    "user_annotation": "#9aa5b1",
    "python_function": "#59a14f",
    "overhead": "#9c755f",
    "gap": "#e9ebee",
}
OTHER_COLOUR = "#c9a227"
DEPENDENCY_COLOURS = {
    "SEQUENTIAL": "#6b7280",
    "INVOCATION": "#2563eb",
    "SYNCHRONIZATION": "#dc2626",
    "CROSS_THREAD": "#7c3aed",
}
ROOT_COLOUR = "#6b7280"
_WHITE_PART = 0.62


def category_colour(category: str) -> str:
    """Return the colour of a category, `#rrggbb`."""
    return CATEGORY_COLOURS.get(category, OTHER_COLOUR)


def dependency_colour(dependency: str) -> str:
    """Return the colour of a dependency kind, `#rrggbb`."""
    return DEPENDENCY_COLOURS.get(dependency, ROOT_COLOUR)


def tint(colour: str) -> str:
    """Return a light shade of a colour, on which dark text is easy to read."""
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * _WHITE_PART):02x}" for part in parts)
