"""A flame graph: a picture of call stacks, which can also be had as text for other programs."""

from os import PathLike
from pathlib import Path

import pandas as pd

from tracegraph.workbench.methods.drawn import Picture, picture_format, save
from tracegraph.workbench.output.stacks import folded_stacks, speedscope_profile
from tracegraph.workbench.pictures.flame import flame_picture

FLAME_FORMATS = ("folded", "speedscope.json")
"""What it can be written as besides a picture."""


class Flame(Picture):
    """Where in the call stacks time goes: width is time, what is below was called or launched from above."""

    def __init__(self, title: str, frames: pd.DataFrame) -> None:
        super().__init__(flame_picture(title, frames))
        self.title, self.frames = title, frames

    def folded(self) -> str:
        """Its stacks with the ns in each, a line each, as flamegraph.pl and many others read them."""
        return folded_stacks(self.frames)

    def speedscope(self) -> str:
        """Its stacks as a file of speedscope.app."""
        return speedscope_profile(self.title, self.frames)

    def write(self, file: str | PathLike[str]) -> None:
        """Write into a file whose name ends in .svg, .png, .pdf, .dot, .folded or .speedscope.json.

        Raises:
            InputError: it ends in something else, or cannot be written.
        """
        place = Path(file)
        texts = dict(zip(FLAME_FORMATS, (self.folded, self.speedscope), strict=True))
        form = picture_format(place, *texts)
        if form in texts:
            save(place, texts[form]().encode())
        else:
            super().write(place)
