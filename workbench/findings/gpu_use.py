"""How the GPUs spend a window: what a report says wherever it calls them busy or idle."""

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.text.text import format_share

_LEAST = 0.005
"""A share of communication below this is not mentioned. Chosen by eye: a smaller one would warn of waits for
other ranks where nothing depends on them."""
COMPUTING, TRANSFERRING, WAITING, IDLE = "computing", "transferring", "waiting", "idle"


def gpu_shares(findings: Findings) -> dict[str, float] | None:
    """Compute what the GPUs do in the window, in the mean over them.

    Returns
    -------
    dict or None
        Shares that sum to 1; None without GPU work. `computing`; `transferring`: copies and communication
        that no computation hides; `waiting`: only kernels that are known to wait for other ranks; `idle`.
    """
    gpu = findings.gpu
    if gpu.empty:
        return None
    length = max(1, findings.length_ns)
    shares = {name: float(gpu[f"{name}_ns"].mean() / length) for name in (COMPUTING, TRANSFERRING, WAITING)}
    return {**shares, IDLE: max(0.0, 1 - sum(shares.values()))}


def gpu_use(findings: Findings) -> str:
    """Say the shares in words; empty without GPU work."""
    shares = gpu_shares(findings)
    if shares is None:
        return ""
    said = f"computing for {format_share(shares[COMPUTING])} of the window"
    said += f", moving data for {format_share(shares[TRANSFERRING])}{_untold(findings)}"
    if shares[WAITING]:
        said += f", waiting for other ranks for {format_share(shares[WAITING])}"
    return f"{said}, idle for {format_share(shares[IDLE])}"


def _untold(findings: Findings) -> str:
    """Mention communication if nobody knows how much of it is waiting for other ranks."""
    alone = float(findings.gpu["communicating_ns"].mean() / max(1, findings.length_ns))
    if alone < _LEAST or findings.gpu["waiting_ns"].any():
        return ""
    return f" ({format_share(alone)} in communication, waits for other ranks included)"
