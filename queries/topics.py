"""What the queries are about: each query's topic, in the order of the documentation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """Queries about the same thing: the name of their page, its title, one sentence, and their names."""

    name: str
    title: str
    summary: str
    queries: tuple[str, ...]


TOPICS = (
    Topic(
        "critical_path",
        "The critical path",
        "What the path consists of, why each stretch began when it did, and how near other causes were.",
        (
            "critical_path",
            "path_composition",
            "path_gaps",
            "path_hops",
            "path_silences",
            "path_inside",
            "path_outline",
            "path_frames",
            "chain_causes",
            "event_causes",
            "event_history",
            "second_causes",
            "near_critical",
            "near_ties",
            "dependency_counts",
        ),
    ),
    Topic(
        "hotspots",
        "Hotspots, operators and annotations",
        "Which names take the time, on the path and off it.",
        (
            "hotspots",
            "hotspot_neighbourhood",
            "off_path_hotspots",
            "off_path_frames",
            "outliers",
            "operators",
            "user_annotations",
            "event_sums",
            "events_named",
            "events_about",
            "call_tree",
            "stack_timeline",
        ),
    ),
    Topic(
        "steps",
        "Steps and phases",
        "How steps and phases compare, and what their paths consist of.",
        (
            "steps",
            "profiler_steps",
            "step_paths",
            "step_hotspots",
            "recurring_hotspots",
            "step_window",
            "phases",
            "phase_paths",
            "phase_hotspots",
            "phase_window",
        ),
    ),
    Topic(
        "gpu",
        "The GPU's time",
        "How GPUs spend their time, why they are idle, and how near the work comes to what they can do.",
        (
            "utilisation",
            "peak_losses",
            "gpu_busy",
            "temporal_breakdown",
            "kernel_breakdown",
            "kernel_type_breakdown",
            "idle_causes",
            "idle_frames",
            "idle_inside",
            "idle_time_breakdown",
            "operator_work",
            "roofline",
            "known_work",
            "counted_work",
            "cupti_counters",
            "cupti_ranges",
        ),
    ),
    Topic(
        "launches",
        "Launches and queues",
        "How calls hand work to the GPU, how long that takes, and what waits in the queues.",
        (
            "launches",
            "launch_stats",
            "launch_summary",
            "launch_distribution",
            "operator_launches",
            "kernel_patterns",
            "queue_length",
            "queue_length_series",
        ),
    ),
    Topic(
        "communication",
        "Communication",
        "The operations in which ranks meet, and how much communication computing hides.",
        (
            "collectives",
            "collective_kinds",
            "link_use",
            "comm_comp_overlap",
            "step_overlap",
            "exposed_communication",
            "transfer_points",
            "transfer_fit",
            "transfer_predictions",
            "stated_transfers",
            "communicators",
            "channels",
            "nccl_advice",
        ),
    ),
    Topic(
        "memory",
        "Memory and copies",
        "What is allocated on each device, by which operators, and how fast copies move it.",
        (
            "memory_peak",
            "memory_operators",
            "memory_timeline",
            "memory_classes",
            "memory_levels",
            "memory_sources",
            "memory_pools",
            "memory_failures",
            "memory_bandwidth",
            "memory_bandwidth_series",
        ),
    ),
    Topic(
        "ranks",
        "Ranks",
        "Which rank the others wait for, and what makes it late.",
        (
            "rank_waits",
            "step_waits",
            "potential_stragglers",
            "operation_stragglers",
            "late_causes",
            "path_ranks",
            "rank_work",
            "rank_gaps",
        ),
    ),
    Topic(
        "lanes",
        "Threads and streams",
        "What the threads of the CPU and the streams of the GPU do, and what they wait for.",
        ("lanes", "lane_waits", "lane_dependencies", "lane_timeline"),
    ),
    Topic(
        "comparison",
        "Two runs, ranks or steps compared",
        "What differs from A to B, in all that happens and on the critical path.",
        ("path_diff", "path_inside_diff", "trace_diff", "trace_diff_matched", "trace_diff_short"),
    ),
    Topic(
        "run",
        "The run and its files",
        "What is stored, from which files, what bounds it and which fixes it shows.",
        ("runs", "newest_ready_run", "run_details", "run_window", "traces", "bounds", "fixes"),
    ),
)
