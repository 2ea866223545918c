"""A picture that shows itself in a notebook and can be written into a file."""

from os import PathLike
from pathlib import Path

import graphviz

from tracegraph.base.errors import InputError
from tracegraph.workbench.pictures.drawing import FORMATS, draw


class Picture(graphviz.Source):  # type: ignore[misc]
    """A graphviz object that draws itself even if no `dot` is installed."""

    def write(self, file: str | PathLike[str]) -> None:
        """Draw into a file whose name ends in .svg, .png, .pdf or .dot.

        Raises
        ------
        InputError
            The name has another ending, or the file cannot be written.
        """
        place = Path(file)
        save(place, draw(self.source, picture_format(place)))

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None, **_: object
    ) -> dict[str, str]:
        return {"image/svg+xml": draw(self.source, "svg").decode(), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {len(self.source.splitlines())} lines of DOT>"


def picture_format(file: Path, *others: str) -> str:
    """Return the format that a file's name says, which may also be one of `others`.

    Raises
    ------
    InputError
        The name says none of them; the hint lists them.
    """
    found = next((ending for ending in (*others, *FORMATS) if file.name.lower().endswith(f".{ending}")), None)
    if found is None:
        listed = f"end it with .{', .'.join((*FORMATS, *others))}"
        raise InputError(f"{file} names no picture format", listed)
    return found


def save(place: Path, content: bytes) -> None:
    """Write a file.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    try:
        place.write_bytes(content)
    except OSError as error:
        raise InputError(f"cannot write {place}: {error.strerror}", "choose another file") from error
