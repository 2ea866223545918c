"""Places on lanes as sortable integers."""

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Ints


class Keys:
    """Encodes (lane, time) as one sortable integer, for times from `start` to `end` in ns.

    Raises
    ------
    InputError
        The times of all lanes do not fit into 64 bits.
    """

    def __init__(self, start: int, end: int, lane_count: int) -> None:
        self.start, self.end, self.stride = start, end, end - start + 1
        if self.stride * max(1, lane_count) >= np.iinfo(np.int64).max:
            raise InputError(
                f"times over {self.stride / 1e9:.0f} s on {lane_count} lanes are too far apart",
                "look for events with absurd times in the file",
            )

    def of(self, lane: Ints, time: Ints) -> Ints:
        """Encode moments between start and end."""
        return lane * self.stride + (time - self.start)

    def lane(self, keys: Ints) -> Ints:
        """Find the lane of each key."""
        return keys // self.stride

    def time(self, keys: Ints) -> Ints:
        """Find the time of each key, ns."""
        return keys % self.stride + self.start
