"""Every query on one tiny graph: the table it must give."""

from collections.abc import Iterator

import pytest
from graphs import GPU_STEP, check_table, stored

from tracegraph.base.errors import InputError
from tracegraph.queries.catalog import asking, find, queries
from tracegraph.queries.runs import fill
from tracegraph.store.connection import Database

RUN = "tiny-tables"
EDGE_COLUMNS = (
    "cause_name cause_start_ns cause_end_ns effect_name effect_start_ns effect_end_ns "
    "dependency mechanism gap_ns binding"
)
CASES = {
    "run_details": """
        state ranks events window_start_ns window_end_ns cross_thread alternatives what_next
        ready 1 7 0 130 evidence [] []""",
    "traces": """
        rank file sha256 clock_offset_ns clock_drift_ppb devices versions
        0 tiny.json 00 0 0 [] {}""",
    "steps": """
        rank number start_ns end_ns window_end_ns name marker
        0 1 0 120 130 train_1 train_*
        0 2 45 90 100 train_2 train_*""",
    "profiler_steps": """
        rank step start_ns end_ns duration_ns window_end_ns name
        0 1 0 120 120 130 train_1
        0 2 45 90 45 100 train_2""",
    "lanes": """
        lane rank kind name pid tid device stream matters longest_ns
        0 0 thread main 1 1 - - True 130
        1 0 stream stream - - 0 7 True 40
        2 0 thread idle 1 2 - - False -""",
    "dependency_counts": """
        dependency mechanism evidence count binding confidence
        SEQUENTIAL program_order recorded 5 4 1.0
        INVOCATION launch recorded 1 1 1.0
        SEQUENTIAL stream_order recorded 1 1 1.0
        SYNCHRONIZATION device_synchronize recorded 1 1 1.0""",
    "run_window": """
        start_ns end_ns chain
        0 130 2""",
    "step_window number=2": """
        start_ns end_ns chain
        45 100 1""",
    "critical_path": """
        position lane source_index name category start_ns end_ns dependency mechanism lag_ns lane_name
        0 0 1 A cpu_op 0 40 root - - main
        1 0 2 launch cuda_runtime 40 50 SEQUENTIAL program_order 0 main
        2 1 - launch_latency gap 50 60 INVOCATION launch 10 stream
        3 1 4 gemm kernel 60 100 INVOCATION launch 10 stream
        4 0 - waiting_for_GPU gap 100 105 SYNCHRONIZATION device_synchronize 5 main
        5 0 3 sync cuda_runtime 105 110 SYNCHRONIZATION device_synchronize 5 main
        6 0 5 B cpu_op 110 130 SEQUENTIAL program_order 0 main""",
    "path_hops": """
        chain rank lane enter_ns exit_ns dependency mechanism evidence confidence lag_ns gap_ns
        0 0 0 0 50 - - - - - -
        1 0 1 60 100 INVOCATION launch - - 10 10
        2 0 0 105 130 SYNCHRONIZATION - - - 5 5""",
    "hotspots limit=2": """
        name category duration_ns proportion prop_in_total count accumulated_ns accumulated_place
        A cpu_op 40 0.5 0.3076923076923077 1 40 1
        gemm kernel 40 0.5 0.3076923076923077 1 40 2""",
    "hotspots start_ns=70 end_ns=102 chain=1": """
        name category duration_ns count accumulated_ns accumulated_place
        gemm kernel 30 1 30 1
        copy gpu_memcpy 2 1 2 2""",
    "off_path_frames": """
        frame parent depth name category duration_ns lag
        0 - 0 main thread 0 -
        1 - 0 stream stream 0 -
        3 0 1 step user_annotation 0 -
        6 3 2 sync cuda_runtime 5 -
        9 1 1 copy gpu_memcpy 4 -""",
    "off_path_frames chain=1 end_ns=104 start_ns=45": """
        frame parent depth name category duration_ns lag
        0 - 0 main thread 0 -
        3 0 1 step user_annotation 0 -
        6 3 2 sync cuda_runtime 5 -""",
    "off_path_hotspots": """
        name category accumulated_ns share on_path_ns count slack_ns meanwhile meanwhile_lane
        copy gpu_memcpy 4 0.03076923076923077 0 1 6 - -""",
    "off_path_hotspots chain=1 end_ns=104 start_ns=45": """
        name category accumulated_ns on_path_ns meanwhile meanwhile_category meanwhile_lane meanwhile_share
        sync cuda_runtime 5 0 - - - -""",
    "off_path_hotspots most_on_path=0.5": """
        name category accumulated_ns on_path_ns count slack_ns
        sync cuda_runtime 10 5 1 -
        copy gpu_memcpy 4 0 1 6""",
    "off_path_hotspots chain=3 start_ns=20 end_ns=130 limit=2 least_ns=20": """
        name category accumulated_ns on_path_ns meanwhile meanwhile_category meanwhile_lane meanwhile_share
        gemm kernel 40 0 untraced_CPU_time gap idle 1.0
        A cpu_op 20 0 untraced_CPU_time gap idle 1.0""",
    "off_path_hotspots chain=0 end_ns=105 least_ns=5": """
        name category accumulated_ns on_path_ns meanwhile meanwhile_category meanwhile_lane meanwhile_share
        gemm kernel 40 0 waiting_for_GPU gap main 1.0""",
    "off_path_hotspots start_ns=30 end_ns=52 chain=0 most_on_path=1.0": """
        name category""",
    "path_outline": """
        row parent depth name category duration_ns share own_ns left_out_ns skipped
        0 - 0 main thread 130 1.0 0 0 0
        1 0 1 step user_annotation 130 1.0 0 0 0
        2 1 2 launch cuda_runtime 60 0.46153846153846156 10 0 0
        3 2 3 gemm kernel 40 0.3076923076923077 40 0 0
        4 2 3 launch_latency gap 10 0.07692307692307693 10 0 0
        5 1 2 A cpu_op 40 0.3076923076923077 40 0 0
        6 1 2 B cpu_op 20 0.15384615384615385 20 0 0
        7 1 2 sync cuda_runtime 10 0.07692307692307693 5 0 0
        8 7 3 waiting_for_GPU gap 5 0.038461538461538464 5 0 0""",
    "path_gaps": """
        name category duration_ns proportion prop_in_total count
        launch_latency gap 10 0.6666666666666666 0.07692307692307693 1
        waiting_for_GPU gap 5 0.3333333333333333 0.038461538461538464 1""",
    "path_frames": """
        frame parent depth name category duration_ns lag
        0 - 0 main thread 0 -
        3 0 1 step user_annotation 0 -
        4 3 2 A cpu_op 40 -
        5 3 2 launch cuda_runtime 10 -
        6 3 2 sync cuda_runtime 5 waiting_for_GPU
        6 3 2 sync cuda_runtime 5 -
        7 3 2 B cpu_op 20 -
        8 5 3 gemm kernel 10 launch_latency
        8 5 3 gemm kernel 40 -""",
    "path_inside": """
        name category duration_ns share own_ns gap_ns
        step user_annotation 130 1.0 0 15
        launch cuda_runtime 60 0.46153846153846156 10 10
        A cpu_op 40 0.3076923076923077 40 0
        gemm kernel 40 0.3076923076923077 40 0
        B cpu_op 20 0.15384615384615385 20 0
        sync cuda_runtime 10 0.07692307692307693 5 5""",
    "path_composition": """
        category duration_ns count
        cpu_op 60 2
        kernel 40 1
        cuda_runtime 15 2
        gap 15 0""",
    "near_ties margin_ns=3": """
        lane source_index name category start_ns end_ns margin_ns cause mechanism second second_mechanism
        0 3 sync cuda_runtime 105 110 3 gemm device_synchronize waiting_for_GPU program_order""",
    "second_causes limit=2 start_ns=50": """
        name category duration_ns count margin_ns cause mechanism second second_mechanism
        gemm kernel 40 0 - - - - -
        B cpu_op 20 0 - - - - -""",
    "second_causes": """
        name duration_ns count margin_ns cause second
        A 40 0 - - -
        gemm 40 0 - - -
        B 20 0 - - -
        launch 10 0 - - -
        sync 5 1 3 gemm waiting_for_GPU""",
    "step_hotspots": """
        rank number name category on_gpu duration_ns inferred_ns
        0 1 A cpu_op False 40 0
        0 1 gemm kernel True 40 0
        0 1 B cpu_op False 20 0
        0 1 launch cuda_runtime False 10 0
        0 1 launch_latency gap True 10 0
        0 1 sync cuda_runtime False 5 0
        0 1 waiting_for_GPU gap False 5 0
        0 2 gemm kernel True 40 0
        0 2 launch_latency gap True 10 0
        0 2 launch cuda_runtime False 5 0""",
    "step_paths": """
        rank number start_ns end_ns length_ns gap_share hotspot hotspot_share outlier typical
        0 1 0 130 130 0.11538461538461539 A 0.3076923076923077 False True
        0 2 45 100 55 0.18181818181818182 gemm 0.7272727272727273 False False""",
    "recurring_hotspots": """
        name category steps step_share mean_ns std_ns min_ns max_ns
        gemm kernel 2 1.0 40.0 0.0 40 40
        A cpu_op 1 0.5 20.0 20.0 0 40
        B cpu_op 1 0.5 10.0 10.0 0 20
        launch_latency gap 2 1.0 10.0 0.0 10 10
        launch cuda_runtime 2 1.0 7.5 2.5 5 10
        sync cuda_runtime 1 0.5 2.5 2.5 0 5
        waiting_for_GPU gap 1 0.5 2.5 2.5 0 5""",
    "near_critical slack_ns=6 end_ns=102": """
        name category lane lane_name slack_ns duration_ns share count
        copy gpu_memcpy 1 stream 6 2 0.0196078431372549 1""",
    "lane_waits": """
        lane lane_name name duration_ns share count
        0 main waiting_for_GPU 50 0.38461538461538464 1""",
    "lane_waits start_ns=80 end_ns=90 least_ns=10": """
        lane lane_name name duration_ns share count
        0 main waiting_for_GPU 10 1.0 1""",
    "lane_waits start_ns=80 end_ns=90 least_ns=11": """
        lane lane_name name duration_ns share count""",
    "path_silences least_ns=1": """
        lane lane_name start_ns end_ns duration_ns gpu_busy_ns threads_busy_ns""",
    "path_silences chain=3 end_ns=130 least_ns=130": """
        lane lane_name start_ns end_ns duration_ns gpu_busy_ns threads_busy_ns
        2 idle 0 130 130 44 80""",
    "path_silences chain=3 start_ns=45 end_ns=102 least_ns=57": """
        lane lane_name start_ns end_ns duration_ns gpu_busy_ns threads_busy_ns
        2 idle 45 102 57 42 10""",
    "path_silences chain=3 end_ns=130 least_ns=131": """
        lane lane_name start_ns end_ns duration_ns gpu_busy_ns threads_busy_ns""",
    "gpu_busy start_ns=70": """
        rank device busy_ns busy_share count computing_ns transferring_ns waiting_ns communicating_ns
        0 0 34 0.5666666666666667 2 30 4 0 0""",
    "outliers part=0.4 times=1 least_count=1": """
        name category rank source_index duration_ns median_ns count long_count
        step user_annotation 0 0 130 130 1 1
        sync cuda_runtime 0 3 60 60 1 1""",
    "outliers part=0.4 times=1 least_count=2": """
        name category rank source_index duration_ns median_ns count long_count""",
    "lane_timeline pixel_ns=30": """
        lane start_ns end_ns name category count slack_ns
        0 0 40 A cpu_op 1 -
        0 40 55 - cuda_runtime 2 -
        0 105 110 sync cuda_runtime 1 -
        0 110 130 B cpu_op 1 -
        1 60 100 gemm kernel 1 -
        1 100 104 copy gpu_memcpy 1 6""",
    "stack_timeline pixel_ns=60": """
        lane start_ns end_ns name category
        0 0 130 step user_annotation
        0 50 110 sync cuda_runtime""",
    "stack_timeline pixel_ns=1 start_ns=60 limit=1": """
        lane start_ns end_ns name category
        0 60 130 step user_annotation""",
    "chain_causes start_ns=100 end_ns=120": """
        chain lane start_ns end_ns cause_chain cause_lane at_ns dependency mechanism
        0 0 0 105 - - - - -
        2 0 105 130 1 1 100 SYNCHRONIZATION -
        1 1 60 104 0 0 50 INVOCATION launch
        3 2 0 130 - - - - -""",
    "lane_dependencies": """
        cause_lane effect_lane dependency mechanism evidence count binding gap_ns
        0 1 INVOCATION launch recorded 1 1 10
        1 0 SYNCHRONIZATION device_synchronize recorded 1 1 5""",
    "events_named name=s": """
        rank source_index name category lane start_ns end_ns duration_ns self_ns step
        0 0 step user_annotation 0 0 130 130 - -
        0 3 sync cuda_runtime 0 50 110 60 - -""",
    "events_about beginnings=s end_ns=100": """
        beginning kernel_type name lane start_ns end_ns
        s - step 0 0 130
        s - sync 0 50 110""",
    "events_about beginnings=g kernel_type=memory": """
        beginning kernel_type name lane start_ns end_ns
        - memory copy 1 100 104""",
    "call_tree source_index=0": """
        depth source_index parent name category start_ns end_ns duration_ns self_ns
        0 0 - step user_annotation 0 130 130 -
        1 1 0 A cpu_op 0 40 40 -
        1 2 0 launch cuda_runtime 40 50 10 -
        1 3 0 sync cuda_runtime 50 110 60 -
        1 5 0 B cpu_op 110 130 20 -""",
    "launches source_index=4": """
        call_source_index call_name source_index name category start_ns end_ns delay_ns
        2 launch 4 gemm kernel 60 100 20""",
    "event_causes source_index=3": """
        effect_start_ns cause_name cause_source_index completion_ns arrival_ns earlier_ns margin_ns verdict
        50 launch 2 50 50 0 - binding:_the_only_candidate
        105 gemm 4 100 105 0 3 binding:_the_last_to_arrive
        105 waiting_for_GPU - 55 55 50 3 a_wait_is_complete_when_it_begins;_arrived_50_ns_earlier""",
    "event_causes source_index=3 limit=1": """
        effect_start_ns effect_name cause_name cause_lane_name cause_category dependency mechanism
        50 sync launch main cuda_runtime SEQUENTIAL program_order""",
    "event_history source_index=3 depth=2 limit=3": f"""
        {EDGE_COLUMNS}
        A 0 40 launch 40 50 SEQUENTIAL program_order 0 True
        launch 40 50 sync 50 55 SEQUENTIAL program_order 0 True
        sync 50 55 waiting_for_GPU 55 105 SEQUENTIAL program_order 0 True
        launch 40 50 gemm 60 100 INVOCATION launch 10 True
        gemm 60 100 sync 105 110 SYNCHRONIZATION device_synchronize 5 True""",
    "hotspot_neighbourhood name=sync": f"""
        {EDGE_COLUMNS}
        waiting_for_GPU 55 105 sync 105 110 SEQUENTIAL program_order 50 False
        gemm 60 100 sync 105 110 SYNCHRONIZATION device_synchronize 5 True
        sync 105 110 B 110 130 SEQUENTIAL program_order 0 True""",
}
ELSEWHERE = {
    *("runs", "newest_ready_run", "computing_work", "mfu_checklist"),
    *("phases", "phase_window", "phase_hotspots", "phase_paths"),
    *("operators", "operator_launches", "kernel_patterns", "user_annotations"),
    *("launch_stats", "launch_summary", "launch_distribution"),
    *(
        "rank_waits",
        "rank_work",
        "rank_gaps",
        "step_waits",
        "path_ranks",
        "late_causes",
        "collectives",
        "collective_kinds",
    ),
    *("idle_causes", "idle_frames", "idle_inside", "potential_stragglers"),
    *("memory_timeline", "memory_peak", "memory_operators", "queue_length_series", "memory_bandwidth_series"),
    *("temporal_breakdown", "kernel_type_breakdown", "kernel_breakdown", "idle_time_breakdown"),
    *("link_use", "step_overlap"),
    *("comm_comp_overlap", "exposed_communication", "queue_length", "memory_bandwidth"),
    *("utilisation", "peak_losses", "known_work"),
    *("operator_work", "roofline", "cupti_counters", "cupti_ranges", "counted_work"),
    *(
        "memory_alignment",
        "memory_classes",
        "memory_failures",
        "memory_levels",
        "memory_pools",
        "memory_segments",
        "memory_sources",
    ),
    *("channels", "communicators", "stated_transfers"),  # tests/integration/test_companions.py
    *(
        "nccl_advice",
        "transfer_fit",
        "transfer_points",
        "transfer_predictions",
    ),  # tests/unit/test_transfers.py
    *("ddp_buckets", "ddp_bucket_sizes", "gathers", "pipeline", "pipeline_timeline", "layer_communication"),
    *("bounds", "fixes"),  # of the columns of run_details: tests/unit/test_more_fixes.py
    "operation_stragglers",  # likewise: tests/unit/test_straggler_section.py
    *("event_sums", *(name for name, query in queries().items() if query.again)),
}
"""Tested in a file of their own beside this one."""


@pytest.fixture(scope="module", autouse=True)
def graph(database: Database) -> Iterator[None]:
    with stored(database, RUN, GPU_STEP):
        yield


@pytest.mark.parametrize("case", CASES)
def test_table(case: str, database: Database) -> None:
    check_table(database, RUN, case, CASES[case])


def test_every_query_has_a_case() -> None:
    assert {case.split()[0] for case in CASES} | ELSEWHERE == set(queries())


@pytest.mark.parametrize("name", ["profiler_steps", "phases", "operator_work", "idle_causes"])
def test_a_rank_that_is_not_there(name: str, database: Database) -> None:
    query = find(name)
    with pytest.raises(InputError, match=r"'tiny-tables' has no rank 1; present: 0"):
        fill(asking(database), query, {"run": RUN, "rank": 1})
    assert query.run(database, fill(asking(database), query, {"run": RUN}) | {"rank": 1}).empty
