"""The list of runs as a frame that shows itself in a notebook."""

import pandas as pd

from tracegraph.queries.shapes.replay_rows import RUN_COLUMNS


class Runs(pd.DataFrame):
    """Rows of the query `runs`; a selection of its columns or rows is a frame of pandas as any other."""

    def _repr_html_(self) -> str | None:
        from tracegraph.workbench.notebook.cards import runs_card  # noqa: PLC0415 (only notebooks show it)

        whole = all(column.name in self.columns for column in RUN_COLUMNS)
        return runs_card(self) if whole else super()._repr_html_()  # type: ignore[misc]
