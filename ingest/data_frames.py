"""Tables of columns as data frames."""

import pandas as pd
import pyarrow as pa

_WHOLE = {pa.int64(): pd.Int64Dtype()}


def whole_frame(table: pa.Table) -> pd.DataFrame:
    """Return a table as a frame in which whole numbers stay whole where some are missing.

    As floats, times and addresses would lose their last digits.
    """
    frame: pd.DataFrame = table.to_pandas(types_mapper=_WHOLE.get)
    return frame
