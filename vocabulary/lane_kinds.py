"""The kinds of lanes."""

THREAD, STREAM, IN_SHORT = "thread", "stream", "in short"
"""A thread of the CPU, a stream of a GPU, and what stands for either of a rank in short."""
LANE_KINDS = (THREAD, STREAM, IN_SHORT)
"""All kinds."""
