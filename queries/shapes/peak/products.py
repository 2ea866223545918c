"""Products whose FLOPs are known: at which peak they could have run, and which of them ran once more."""

from dataclasses import dataclass

import pandas as pd

from tracegraph.queries.shapes.peak.devices import ceilings, device_names, device_of
from tracegraph.queries.shapes.peak.job import Job
from tracegraph.vocabulary.device_peaks import find_peaks
from tracegraph.vocabulary.phases import ENGINE, LOADING_NAMES
from tracegraph.vocabulary.work_kinds import MATRIX, ON_MATRIX_UNITS

PRODUCTS = {"products": "\n".join(sorted(ON_MATRIX_UNITS))}
"""The value that tells the modules which kinds of work are products."""
BACKWARD = {**PRODUCTS, "engine": ENGINE}
"""The same, and what tells them which products backward passes run."""
LOADING = {"loading": "\n".join(LOADING_NAMES)}
"""The value that tells the modules what loads data."""
_CALL = ["rank", "name", "shapes", "dtype"]
_TERA = 1e12


@dataclass(frozen=True)
class Devices:
    """The devices of the ranks, and what the user says of them."""

    names: dict[int, list[str]]
    job: Job

    def name_of(self, rank: int, device: int | None) -> str | None:
        """Return the name of a device, None where neither the file nor the user tells it."""
        return self.job.device or device_of(self.names.get(rank, []), device)

    def peak_of(self, rank: int, device: int | None, dtype: str | None) -> float | None:
        """Return the rate in FLOP/s that products of a type could reach, None where it is not known.

        What the user says counts for every type.

        Parameters
        ----------
        device
            CUDA's number of the device; without one all devices of the rank must be of one kind.
        dtype
            The type of the elements, by the name of `vocabulary.element_types`; None if it is not recorded.
        """
        if self.job.peak is not None:
            return self.job.peak * _TERA
        found = find_peaks(self.name_of(rank, device))
        return max(ceilings(found, dtype, MATRIX), default=None)

    def peak_of_rank(self, rank: int, devices: list[int | None], dtype: str | None) -> float | None:
        """Return the sum of the peaks of some devices of a rank, FLOP/s, None where one is not known."""
        peaks = [self.peak_of(rank, one, dtype) for one in devices]
        known = [one for one in peaks if one is not None]
        return sum(known) if known and len(known) == len(peaks) else None


def devices_of(files: pd.DataFrame, job: Job) -> Devices:
    """Collect the devices from the rows of `traces`."""
    return Devices(device_names(files), job)


def device_numbers(devices: "pd.Series[int]") -> list[int | None]:
    """Return the distinct devices of a rank's rows."""
    return [None if pd.isna(one) else int(one) for one in devices.unique()]


def run_again(calls: pd.DataFrame) -> "pd.Series[bool]":
    """Tell which rows of `product_calls` are recomputation.

    In a backward operator they look like forward work, and the same product ran outside of such operators: a
    gradient of a gradient looks like forward work, too, but need not have run before.
    """
    forward = set(calls.loc[~calls["backward"], _CALL].itertuples(index=False, name=None))
    seen = [row in forward for row in calls[_CALL].itertuples(index=False, name=None)]
    return calls["numbered"] & pd.Series(seen, index=calls.index, dtype=bool)
