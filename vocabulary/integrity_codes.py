"""Every code of the integrity report: its level, what it means for the numbers, and what to do."""

from dataclasses import dataclass
from typing import Literal

from tracegraph.vocabulary.categories import GPU_WORK, Role, names_of
from tracegraph.vocabulary.gaps import LOST_WORK

Level = Literal["info", "warning", "error"]
DOUBTFUL: tuple[Level, ...] = ("error", "warning")
"""The levels of findings that lower the trust in every number, the worst first; the others only inform."""
_AGAIN = "Record or copy the trace again."
_TOOL = "Find out which tool wrote it, and repair the entry there."
_KNOW = "Nothing; it is good to know."
_WORK = ", ".join(names_of(*GPU_WORK))
(_SYNC,) = names_of(Role.SYNC)


@dataclass(frozen=True)
class Code:
    """What a code of the integrity report says, and how serious it is."""

    level: Level
    meaning: str
    advice: str


CODES = {
    "gzip_damaged": Code("error", "The gzip stream is cut or damaged; what unpacks before is read.", _AGAIN),
    "json_cut": Code(
        "error",
        "The text ends within the list of events, as after a killed writer or a full disk. How much time is "
        "missing cannot be known.",
        _AGAIN,
    ),
    "event_broken": Code(
        "error",
        "Entries are not valid JSON, such as a name with quotes in it that are not escaped, or longer than "
        "the limit `entry`. They are skipped; their time is unknown.",
        "A newer torch escapes names.",
    ),
    "events_after_end": Code(
        "error",
        "Entries stand after the end of the document: two files were joined. Only the first is read.",
        "Split the file and report on each part.",
    ),
    "list_repeated": Code(
        "error", "The key traceEvents is there more than once; the last list is read.", _TOOL
    ),
    "changed_while_read": Code(
        "error", "The file was written to while it was read.", "Wait until it is complete."
    ),
    "start_missing": Code("error", "Events without a usable ts are dropped.", _TOOL),
    "start_absurd": Code("error", "Events over 30 days from the others are dropped.", _TOOL),
    "duration_missing": Code("error", "Events (ph X) without a usable dur are dropped.", _TOOL),
    "duration_negative": Code("error", "Events with a negative dur are dropped.", _TOOL),
    "duration_absurd": Code("error", "Events of over 30 days are dropped.", _TOOL),
    "operations_unordered": Code(
        "error",
        "An operation log holds operations that a pipeline cannot have run in this order, or one of them "
        "twice: what each waits for is not known.",
        "Write them as docs/operations.md says.",
    ),
    "operations_incomplete": Code(
        "warning",
        "Steps of an operation log have other operations than most of its steps. What these wait for is not "
        "known, and the measures of stragglers leave them out.",
        "Write whole steps only.",
    ),
    "thread_missing": Code("error", "Events without a tid are dropped: their thread is not known.", _TOOL),
    "begin_without_end": Code("error", "B entries without an E are dropped.", _AGAIN),
    "end_without_begin": Code("error", "E entries without a B are dropped.", _AGAIN),
    "gpu_end_impossible": Code(
        "error",
        "GPU rows outlive the return of a call that waited for them, or hold three and more later works of "
        "their stream, which runs in order otherwise: their `dur` is wrong. They end at the next work of the "
        "stream or at that return, whichever is earlier (`clipped_ns`); how long they ran is not known.",
        "A newer profiler (early versions of ROCm's write such durations).",
    ),
    "gpu_start_impossible": Code(
        "error",
        "GPU rows lie seconds before the call that launched them, or seconds after all that was recorded: "
        "when they ran is not known. They take no part in sums, path, what-if and diff.",
        _TOOL,
    ),
    "cpu_end_impossible": Code(
        "error",
        "Calls hold operators that their thread ran after them, or calls and operators outlive what they "
        "run in by far: their `dur` is wrong. They end at the first of these operators, or with what they "
        "run in.",
        _TOOL,
    ),
    "gpu_category_unknown": Code(
        "error",
        "Events stand on a lane that is named like a device's, but their category is none of "
        f"{_WORK}. They are taken for work of a CPU thread, so that a path through the device is wrong.",
        "Name the process by its device, such as `GPU 0`, or use the file that the profiler wrote.",
    ),
    "gpu_work_missing": Code(
        "error",
        "Calls launch GPU work, and the file holds none: the profiler could not record the GPU, or the file "
        "was filtered.",
        "Record with ProfilerActivity.CUDA, and check that the driver lets the profiler in.",
    ),
    "gpu_rows_missing": Code(
        "error",
        "Launches have no GPU work in the file, although work that was launched after them has, or a call "
        "that waited for theirs returned: rows are missing, and the time of that work is unknown. What stood "
        f"behind it in its queue waits in `{LOST_WORK}`.",
        "Record with larger buffers, or fewer steps.",
    ),
    "path_mostly_unrecorded": Code(
        "error",
        "Half of the path, or more, lies in gaps whose work is not in the file, or that nothing explains: "
        "what determines the length, and what a change gains, cannot be told.",
        "Record again from a synchronise on, with larger buffers, and without CUDA graphs.",
    ),
    "stream_shared": Code(
        "error",
        "One device and stream holds work of several processes: files were joined. Their work is taken "
        "for one "
        "stream's.",
        "Report on each process's own file.",
    ),
    "ranks_merged": Code(
        "error",
        "Several processes launched GPU work, as in a file into which a tool merged ranks, and nothing "
        "proves whose work is whose: no verdict is given.",
        "Report on the files of the ranks, or split the file: `tracegraph convert FILE rank0.json --process "
        "PID`, once for each rank, with a `--process` for each of its processes.",
    ),
    "device_shared": Code(
        "error",
        "Calls of several processes launched the work of one stream: it is several streams in one row. Edges "
        "from and to its work have a confidence of at most .5.",
        "Report on each process's own file.",
    ),
    "recording_hole": Code(
        "error",
        "Nothing was recorded for a while, although ids and launches show that something ran. What leads "
        "over the hole has a confidence of at most .5.",
        "Record with larger buffers, or fewer steps.",
    ),
    "launches_unjoined": Code(
        "error",
        "Neither correlation ids nor flows join GPU work with its calls. Edges from and to GPU work have a "
        "confidence of at most .5.",
        "Use the file that the profiler wrote, with its args and flows.",
    ),
    "path_unrecorded": Code(
        "warning",
        "A good part of the path lies in gaps whose work is not in the file, or that nothing explains: no "
        "gain can be told for it.",
        "Record again from a synchronise on, with larger buffers, and without CUDA graphs.",
    ),
    "top_level_broken": Code(
        "warning", "The keys after the list of events are lost: rank, devices, versions.", _AGAIN
    ),
    "gzip_checksum": Code(
        "warning",
        "The checksum of the gzip stream does not fit its content, which is there in its full length: a bit "
        "of it, or of the checksum, is wrong. All of it is read; a digit may be another one.",
        "Copy the trace again and compare.",
    ),
    "text_after_end": Code("warning", "Text without entries after the end of the document.", _TOOL),
    "number_not_finite": Code("warning", "NaN or Infinity stands for a number; it is read as absent.", _TOOL),
    "entry_not_object": Code("warning", "Entries of the list are no objects and are skipped.", _TOOL),
    "event_repaired": Code(
        "warning",
        "Fields of another type than expected, or text that is no UTF-8, were read all the same.",
        _TOOL,
    ),
    "args_unusable": Code("warning", "`args` is no object and is read as none.", _TOOL),
    "text_truncated": Code(
        "warning",
        "Texts beyond the limit are cut; names that differ later become one.",
        "Raise `--limit text=N`.",
    ),
    "stream_from_tid": Code("warning", "GPU work names no stream; its tid is taken.", _TOOL),
    "flow_unusable": Code("warning", "Flows without an id or a usable ts are dropped.", _TOOL),
    "event_repeated": Code(
        "warning", "The same event stands in the file twice; both count.", "Remove the copies."
    ),
    "several_processes": Code(
        "warning",
        "Several processes have a good part of the CPU events. The file is read as one rank; hand-overs "
        "between "
        "processes are seen only by the rules for threads.",
        "Report on each rank's own file.",
    ),
    "async_unread": Code("warning", "Asynchronous spans (ph b, e, …) are not read.", _KNOW),
    "phase_unknown": Code("warning", "Entries with an unknown ph are not read.", _TOOL),
    "times_rounded": Code(
        "warning",
        "Starts went through floating point: they are exact to a quarter of a microsecond only, so "
        "orders and "
        "gaps below that are not to be trusted.",
        "Use the file that the profiler wrote.",
    ),
    "gpu_without_launch": Code(
        "warning",
        "GPU work whose call is not in the file, as after a cut or with work launched before the "
        "recording. The "
        "path can enter it only from the work before it on the stream.",
        "Record with the CPU activity, too, and for a whole step.",
    ),
    "wait_for_nothing": Code(
        "warning",
        "Calls named after synchronising last 1 ms or longer, and no GPU work that they can have waited for "
        "ends in them: its rows are missing, or it ran elsewhere. Such time is work, or unknown.",
        "Record all devices that the process uses, and the GPU's activity for the whole recording.",
    ),
    "begins_in_work": Code(
        "warning",
        "The first GPU work of a stream was launched before the recording: what it waited for is not known.",
        "Start the recording after a synchronise, or leave the first step out (`--step`).",
    ),
    "begins_mid_step": Code(
        "warning",
        "The recording begins in mid-step: the first step is missing, or shorter than it was.",
        "Leave it out (`--step`), or record from the beginning of a step.",
    ),
    "ends_in_work": Code(
        "warning",
        "Work of the last launches is not in the file: the last step may be shorter than it was.",
        "Synchronise before the recording ends, or leave the last step out (`--step`).",
    ),
    "gpu_clock_shifted": Code(
        "warning",
        "GPU times contradicted the calls; all were moved by the likeliest offset and drift of their clock.",
        _KNOW,
    ),
    "gpu_clock_inconsistent": Code(
        "warning", "GPU times contradict the calls, and no offset and drift mends it; they stay.", _KNOW
    ),
    "window_empty": Code(
        "warning",
        "Over half of the window holds no event in one stretch: a few events have wrong times, or two "
        "recordings "
        "were joined.",
        "Look at the first and the last event of the file.",
    ),
    "ranks_missing": Code(
        "warning",
        "The files state more ranks than there are files: what a rank that is not here did, and when it "
        "came to an operation, is unknown. The path may lead past the one that was late.",
        "Give the files of all ranks.",
    ),
    "rank_beyond_job": Code(
        "warning",
        "A file is said to hold a rank that a job of the stated size has not.",
        "Check the ranks: `--rank-of FILE=N`, or the names of the files.",
    ),
    "rank_of_other_job": Code(
        "warning",
        "A file was recorded at another time than all others and shares no collective with them: it may "
        "be of another job, or of a host with another clock.",
        "Give the files of one job, recorded over the same steps.",
    ),
    "rank_unaligned": Code(
        "warning",
        "Ranks of a run share no collective with the others, so that their clocks cannot be compared: what "
        "lies between their times and those of other ranks means nothing.",
        "Record all ranks over the same steps.",
    ),
    "operations_unmatched": Code(
        "warning",
        "Communication of several ranks could not be matched: who waited for whom in it is unknown.",
        "A newer torch writes groups and numbers of collectives.",
    ),
    "counters_unattributed": Code(
        "warning",
        "Ranges with hardware counters belong to no launch that can be told: there are more or fewer of them "
        "than of what they measured, and their times are made up. Their counters have no operator.",
        "Record at most 1,500 kernels with a range each, all on one device.",
    ),
    "operation_impossible": Code(
        "warning",
        "By the aligned clocks a rank left a collective before another came: it is left out.",
        "Compare with `rank_clock_spread`: short collectives drown in the noise of clocks.",
    ),
    "memory_row_broken": Code(
        "warning",
        "Memory rows (`[memory]`) without a usable ts, tid, device or size, or without a total where others "
        "of the device have one, are left out of what is said about memory.",
        _TOOL,
    ),
    "memory_total_jumps": Code(
        "warning",
        "What is allocated on a device, as its memory rows state it, changes by another amount than their "
        "sizes: rows are missing, so that peaks between them may be, too.",
        "Record with larger buffers, or fewer steps.",
    ),
    "columns_missing": Code(
        "warning",
        "A database lacks tables or columns without which rows cannot be placed or joined.",
        "Export the report again with the newest `nsys`; record a `.rpd` again.",
    ),
    "cell_not_number": Code(
        "warning", "Cells of columns of numbers hold text or fractions; they are read as empty.", _TOOL
    ),
    "sync_without_call": Code(
        "info",
        "Rows of waits have no call in the report, as at the borders of a captured range: what they waited "
        "for is unknown.",
        _KNOW,
    ),
    "tables_missing": Code(
        "info",
        "A report of Nsight Systems lacks tables, which exist only where something was recorded: what they "
        "would tell is unknown.",
        "Record with `nsys profile --trace=cuda,nvtx,osrt`.",
    ),
    "strangers_left_out": Code(
        "info",
        "Rows of other processes that ran on the machine, and have no work on a GPU, are left out.",
        _KNOW,
    ),
    "range_not_closed": Code(
        "info", "Ranges of annotations were open when the recording ended; they end there.", _KNOW
    ),
    "payload_unknown": Code(
        "info",
        "Ranges of NVTX carry payloads of other kinds than NCCL's messages, or as JSON. They are left out.",
        "For the sizes of NCCL's messages: `nsys export --include-blobs=true`.",
    ),
    "turn_untold": Code(
        "info",
        "The report says when threads were off a CPU, but not whether they could have run. Where no event is "
        "open they did nothing (`thread not running`); inside a call the time stays with the call.",
        "Record with a newer `nsys` and `--cpuctxsw=process-tree`, which may need more rights.",
    ),
    "turn_without_partner": Code(
        "info",
        "Rows of turns on a CPU (`SCHED_EVENTS`) have no partner: the row before or after theirs is missing, "
        "so that nothing follows from them.",
        _KNOW,
    ),
    "json_repaired": Code("info", "The text is not valid JSON, yet nothing is lost.", _KNOW),
    "redirected": Code(
        "info",
        "The server of the URL sent on to another one, or to one that does not encrypt.",
        "Check that you trust it.",
    ),
    "byte_order_mark": Code("info", "The text starts with a byte order mark.", _KNOW),
    "category_old": Code("info", "Categories of early versions (Operator, Kernel) read as today's.", _KNOW),
    "ranks_split": Code(
        "info",
        "A tool merged several ranks into the file: they are told apart and read as the ranks of a job.",
        _KNOW,
    ),
    "device_rows_read": Code(
        "info",
        "Events without a category of GPU work stand on lanes of devices, as their names or the flows that "
        "end there say (NPUs, XPUs, exports of `torch.autograd.profiler`, JAX): they are read as its work.",
        _KNOW,
    ),
    "device_rows_unread": Code(
        "info",
        "Events of devices that sum up other events (`Overlap Analysis`), or that wait for an event in their "
        "stream, are no work and not read.",
        _KNOW,
    ),
    "thread_in_layers": Code(
        "info",
        "Threads have rows in several processes, one for each layer of software (Python, CANN): they are "
        "read as one thread.",
        _KNOW,
    ),
    "joined_by_external_id": Code(
        "info",
        "GPU work has no correlation id: it is joined with its call, or where no call is in the file with "
        "its operator, by `External id`, where only one can be meant.",
        _KNOW,
    ),
    "category_unknown": Code(
        "info", "Events of categories without rules; they count as work of their thread.", _KNOW
    ),
    "category_missing": Code("info", "Events without a category; they count as work of their thread.", _KNOW),
    "name_missing": Code("info", "Events without a name.", _KNOW),
    "process_missing": Code("info", "Events without a pid.", _KNOW),
    "process_stray": Code("info", "Processes with under 1 % of the CPU events each.", _KNOW),
    "rank_missing": Code(
        "info",
        "The file names no rank; 0 is taken, or of several processes the lowest numbers that are left.",
        "State it with `--rank-of FILE=N`, of a file of several ranks with `--rank-of FILE#PROCESS=N`.",
    ),
    "other_ranks": Code(
        "info",
        "The file is of one rank of several: how much of a collective is waiting for others is unknown.",
        "Give the files of all ranks.",
    ),
    "ranks_in_short": Code(
        "info",
        "Of these ranks only operations with other ranks are here, and how long each took to the next one.",
        "Load one in full, from its file: `tracegraph runs load RUN --rank N`.",
    ),
    "rank_clock_shifted": Code(
        "info",
        "All times of a rank were moved so that shared collectives end together on all ranks.",
        _KNOW,
    ),
    "rank_clock_spread": Code(
        "info",
        "How far ends of shared collectives then lie apart: nothing between ranks is known better.",
        _KNOW,
    ),
    "members_missing": Code(
        "info",
        "Collectives have members of which no file or row is there: when those came is unknown.",
        "Give the files of all ranks.",
    ),
    "operations_by_order": Code(
        "info",
        "Collectives were matched between ranks by name, size and order, since the files do not number them.",
        "A newer torch writes groups and numbers of collectives.",
    ),
    "correlation_repeated": Code(
        "info", "Several calls share a correlation id; process and order tell whose work is whose.", _KNOW
    ),
    "times_whole_us": Code(
        "info",
        "Times are whole microseconds: shorter gaps and the order within one cannot be told.",
        "A newer torch writes nanoseconds.",
    ),
    "flow_without_end": Code(
        "info", "Flows start and never end; usual for calls that launch nothing.", _KNOW
    ),
    "flow_without_start": Code("info", "Flows end and never start; usual in files of torch.", _KNOW),
    "flow_id_repeated": Code("info", "Flow ids start more than once.", _KNOW),
    "thread_unnamed": Code("info", "Threads without a name: metadata was dropped.", _KNOW),
    "device_unknown": Code("info", "GPU work, but no deviceProperties: metadata was dropped.", _KNOW),
    "frame_without_caller": Code(
        "info", "Python frames whose caller is not in the file: the file was cut or filtered.", _KNOW
    ),
    "frame_not_closed": Code(
        "info",
        "Python frames were never seen to return and end with the recording, although their callers went on: "
        "they are closed where their caller ends or calls the next one.",
        _KNOW,
    ),
    "frames_cut": Code(
        "info", "Python frames were still open when the recording ended; they end there.", _KNOW
    ),
    "outside_parent": Code(
        "info", "Events end after the event they start in; while both are open the younger one counts.", _KNOW
    ),
    "launch_without_gpu_work": Code(
        "info", "Launches without GPU work: it ran after the recording, or during a graph's capture.", _KNOW
    ),
    "no_sequence_numbers": Code(
        "info",
        "Several threads of a process run operators, and nothing in the file joins the forward pass with the "
        "backward one: hand-overs to the engine of autograd are inferred from times.",
        "A newer torch writes sequence numbers.",
    ),
    "no_cuda_sync": Code(
        "info",
        f"No {_SYNC} rows: what a call waits for is inferred from its name and from times.",
        "On CUDA: record with `_ExperimentalConfig(enable_cuda_sync_events=True)`. ROCm writes none.",
    ),
    "counters_by_order": Code(
        "info",
        "Ranges with hardware counters are paired with the launches of the kernels that they measured in "
        "order, by name where the file holds the kernels: nothing else in a file joins them.",
        _KNOW,
    ),
    "stream_waits_inferred": Code(
        "info",
        "Calls make a stream wait for another (StreamWaitEvent), and no row names the two: they are inferred "
        "from what is launched next and from starts that follow an end again and again.",
        "Record with `_ExperimentalConfig(enable_cuda_sync_events=True)`.",
    ),
    "stream_overlap": Code(
        "info", "Work on one stream overlaps, as in CUDA graphs; no order is assumed there.", _KNOW
    ),
    "memory_without_totals": Code(
        "info",
        "Memory rows state sizes and no totals: what was allocated before the recording is unknown, and "
        "peaks are counted from there.",
        "A newer torch writes totals.",
    ),
    "steps_missing": Code(
        "info",
        "No ProfilerStep in the file.",
        "Call the profiler's step(), or name annotations that mark steps: --step-marker.",
    ),
    "step_repeated": Code("info", "Several steps have one number; the first of each counts.", _KNOW),
    "step_left_out": Code("info", "Step numbers are left out between the first and the last.", _KNOW),
    "after_window": Code(
        "info", "Events on lanes that do not matter end after the last one that matters; cut there.", _KNOW
    ),
    "before_window": Code(
        "info", "Events on lanes that do not matter start before the first that matters; cut there.", _KNOW
    ),
}
"""The codes by their names, errors first."""
