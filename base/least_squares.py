"""Latency and bandwidth from times by size: T = α + S/β, by least squares of the relative errors."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_UNKNOWN_ERROR = 0.5
"""α is not determined where its standard error is more than this part of it, since two standard errors then
reach 0 ..."""
_UNKNOWN_PART = 0.05
"""... or where it is less than this part of the smallest time. Chosen by eye: repeated times of one size
differ by as much."""
_NS_PER_S = 1e9
_FEWEST_SIZES, _LEAST_RANGE = 4, 16
"""With fewer sizes, or a largest that is less than this many times the smallest, nothing is fitted. Chosen by
eye: a line through two or three sizes always fits well, and over a small range latency and bandwidth cannot
be told apart."""
NOT_RISING = "The times do not grow with the size, so no bandwidth follows from them."


@dataclass(frozen=True)
class Line:
    """A fitted line; errors are standard errors, `r_squared` that of the times themselves.

    Attributes
    ----------
    alpha_ns
        Time of an operation of no bytes, ns.
    slope_ns
        Time of a byte, ns/B.
    mean_error, largest_error
        Of the fitted times, relative to the measured ones.
    """

    alpha_ns: float
    alpha_error_ns: float
    slope_ns: float
    slope_error_ns: float
    r_squared: float
    mean_error: float
    largest_error: float
    is_alpha_known: bool

    @property
    def bytes_per_s(self) -> float:
        """The bandwidth β."""
        return _NS_PER_S / self.slope_ns

    @property
    def bytes_per_s_error(self) -> float:
        """Its standard error, of first order."""
        return self.bytes_per_s * self.slope_error_ns / self.slope_ns


def why_not_fitted(sizes: Floats, *, waits_inside: bool) -> Iterator[str]:
    """Say why no line is fitted to times of these sizes; nothing if one can be.

    `waits_inside`: whether waits for ranks whose files are not here are in the times.
    """
    if waits_inside:
        yield "Waits for ranks that are not here are in the times: give the files of all ranks."
    if len(sizes) < _FEWEST_SIZES:
        counted = "one size" if len(sizes) == 1 else f"{len(sizes)} sizes"
        yield f"{counted.capitalize()} cannot tell a latency from a bandwidth: at least {_FEWEST_SIZES} can."
    elif sizes.max() < _LEAST_RANGE * sizes.min():
        yield (
            f"The largest size is {sizes.max() / sizes.min():.1f} times the smallest: the range has to be "
            f"{_LEAST_RANGE}-fold."
        )


def fit_line(sizes: Floats, times: Floats) -> Line | None:
    """Fit times in ns to sizes in bytes; None where they do not grow with the size.

    Each equation is divided by its time, so that 1 % of a short time counts as much as 1 % of a long one:
    over many sizes errors of measurement are relative ones, and with plain least squares the largest alone
    would decide. Standard errors follow from the residuals with n - 2 degrees of freedom.
    """
    design = np.column_stack([1 / times, sizes / times])
    scale = np.linalg.norm(design, axis=0)  # bytes and nothing differ by many orders of magnitude
    found, *_ = np.linalg.lstsq(design / scale, np.ones(len(times)), rcond=None)
    alpha, slope = found / scale
    if not slope > 0:
        return None
    residuals = design @ (alpha, slope) - 1
    variance = residuals @ residuals / max(1, len(times) - 2)
    covariance = variance * np.linalg.inv((design / scale).T @ (design / scale))
    alpha_error, slope_error = np.sqrt(np.diag(covariance)) / scale
    spread = times - times.mean()
    misses = times * residuals
    return Line(
        alpha_ns=float(alpha),
        alpha_error_ns=float(alpha_error),
        slope_ns=float(slope),
        slope_error_ns=float(slope_error),
        r_squared=float(1 - misses @ misses / (spread @ spread)),
        mean_error=float(np.abs(residuals).mean()),
        largest_error=float(np.abs(residuals).max()),
        is_alpha_known=bool(
            alpha > 0 and alpha_error <= _UNKNOWN_ERROR * alpha and alpha >= _UNKNOWN_PART * times.min()
        ),
    )
