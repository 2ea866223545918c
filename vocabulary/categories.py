"""The vocabulary of categories: what the rows of each are to the model, with their label and colour.

A category is known by its name in today's spelling of Kineto. No other module writes such a name down: code
asks for the role.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum


class Role(Enum):
    """What the rows of a category are to the causal model."""

    OPERATOR = "operator"
    ANNOTATION = "annotation"
    FRAME = "Python frame"
    CALL = "call into a GPU runtime or driver"
    KERNEL = "kernel"
    COPY = "copy"
    MEMSET = "memset"
    GPU_ANNOTATION = "annotation on the GPU"
    SYNC = "synchronisation"
    RANGE = "range of the profiler"
    OVERHEAD = "overhead"
    SPAN = "span of the profiler"
    GAP = "gap"
    DEVICE_ROW = "row of another device"
    SYSTEM_CALL = "call into the operating system"
    SYSTEM_WAIT = "wait in the operating system"
    OTHER = "other"


GPU_WORK = (Role.KERNEL, Role.COPY, Role.MEMSET)
"""GPU activities: the rows that become segments of a stream."""
NOT_IN_LANES = (Role.GPU_ANNOTATION, Role.SYNC, Role.RANGE)
"""Events that are not work of their own: they get no segments."""
ON_DEVICE = (*GPU_WORK, Role.GPU_ANNOTATION)
"""Rows whose pid and tid are a device and a stream."""
_NO_EVENTS = (Role.SPAN, Role.GAP)


@dataclass(frozen=True)
class Category:
    """One category of rows.

    `label` is the second label of its events, `old_spelling` the name that early versions of Kineto wrote.
    """

    name: str
    role: Role
    meaning: str
    label: str = "Other"
    colour: str = "#c9a227"
    old_spelling: str = ""


ANY_OTHER = Category("", Role.OTHER, "anything else: work of its thread")
"""Stands for every category that is not declared."""
GAP = "gap"
"""The category of rows that do not stand for an event."""
LIBRARY_COLLECTIVE = "collective_comm"
"""The category of operations of several ranks that are neither GPU work nor a call."""
SPAN = "Trace"
"""The category of the profiler's own span, which is not an event."""

_RUNTIME = Category("cuda_runtime", Role.CALL, "call into a GPU runtime", "Runtime", "#2a9d8f", "Runtime")
_DRIVER = Category("cuda_driver", Role.CALL, "call into a GPU driver", "Driver", "#1b6f8a", "Driver")
FAMILIES = {"_runtime": _RUNTIME, "_driver": _DRIVER}
"""Endings of the names of other vendors' runtimes and drivers, each with the category it resembles."""

CATEGORIES = (
    Category("cpu_op", Role.OPERATOR, "operator of the framework", "CpuOp", "#4c78a8", "Operator"),
    _RUNTIME,
    _DRIVER,
    Category("kernel", Role.KERNEL, "kernel on a GPU", "Kernel", "#e8871e", "Kernel"),
    Category("gpu_memcpy", Role.COPY, "copy by a GPU", "Memcpy", "#d1495b", "Memcpy"),
    Category("gpu_memset", Role.MEMSET, "memory that a GPU sets", "Memset", "#b07aa1", "Memset"),
    Category(
        "user_annotation",
        Role.ANNOTATION,
        "annotation of the user or a library, or a step",
        "Annotation",
        "#9aa5b1",
        "UserAnnotation",
    ),
    Category(
        "gpu_user_annotation",
        Role.GPU_ANNOTATION,
        "the same on a stream, around the work launched in it",
        "GpuAnnotation",
    ),
    Category("python_function", Role.FRAME, "Python function", "PythonFunction", "#59a14f", "PythonFunction"),
    Category("cuda_sync", Role.SYNC, "what a call or a stream waited for", "Sync"),
    Category("overhead", Role.OVERHEAD, "the profiler's own work", "Overhead", "#9c755f"),
    Category("cuda_profiler_range", Role.RANGE, "range in which hardware counters were read"),
    Category("osrt", Role.SYSTEM_CALL, "call into the operating system, read as work of its thread"),
    Category("osrt_wait", Role.SYSTEM_WAIT, "call into the operating system in which its thread waits"),
    Category("cpu_instant_event", Role.OTHER, "moment on the CPU"),
    Category("external_correlation", Role.OTHER, "link between ids"),
    Category(LIBRARY_COLLECTIVE, Role.OTHER, "collective of a library, or any operation of a rank in short"),
    Category("xpu_sync", Role.OTHER, "synchronisation of an XPU, read as work of its thread"),
    Category("hpu_op", Role.DEVICE_ROW, "operator of an HPU, read as work of its lane"),
    Category(
        "mtia_ccp_events", Role.DEVICE_ROW, "event of an MTIA control processor, read as work of its lane"
    ),
    Category("mtia_workloadd", Role.DEVICE_ROW, "event of MTIA's daemon, read as work of its lane"),
    Category("mtia_insight", Role.DEVICE_ROW, "event of MTIA's insight, read as work of its lane"),
    Category("mtia_counters", Role.DEVICE_ROW, "counters of an MTIA"),
    Category(SPAN, Role.SPAN, "span of the whole recording: not read"),
    Category(GAP, Role.GAP, "stands for no event: a named gap", colour="#b4bcc6"),
)
"""All categories that are known by name."""

_BY_NAME = {
    **{category.old_spelling: category for category in CATEGORIES if category.old_spelling},
    **{category.name: category for category in CATEGORIES},
}
TODAYS_SPELLING = {category.old_spelling: category.name for category in CATEGORIES if category.old_spelling}
"""Today's name of a category by the name that early versions of Kineto wrote."""
LABELS = tuple(dict.fromkeys(category.label for category in (*CATEGORIES, ANY_OTHER)))
"""All second labels of events."""


def find_category(name: str | None) -> Category:
    """Find the category of a name in any spelling: a declared one, that of its family, or `ANY_OTHER`."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    for ending, like in FAMILIES.items():
        if name is not None and name.endswith(ending):
            return replace(like, name=name, old_spelling="")
    return ANY_OTHER


def has_role(name: str | None, *roles: Role) -> bool:
    """Tell whether the rows of a category, in any spelling, have one of `roles`."""
    return find_category(name).role in roles


def is_known(name: str) -> bool:
    """Tell whether events of a file may have this category: it is declared, or belongs to a family."""
    category = find_category(name)
    return category is not ANY_OTHER and category.role not in _NO_EVENTS


def names_with(names: Iterable[str], *roles: Role) -> list[str]:
    """Keep those of the categories `names` whose rows have one of `roles`."""
    return [name for name in names if has_role(name, *roles)]


def names_of(*roles: Role) -> tuple[str, ...]:
    """Return the names of all declared categories with one of `roles`."""
    return tuple(category.name for category in CATEGORIES if category.role in roles)


def labels_of(*roles: Role) -> frozenset[str]:
    """Return the second labels of the events of all declared categories with one of `roles`."""
    return frozenset(category.label for category in CATEGORIES if category.role in roles)


def spellings_of(*roles: Role) -> frozenset[str]:
    """Return the names of all declared categories with one of `roles`, in today's and in the old spelling."""
    return frozenset(names_with(_BY_NAME, *roles))
