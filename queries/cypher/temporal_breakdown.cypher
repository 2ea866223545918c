// How the time of each rank's GPUs is spent: computing, communicating, moving memory, or idle.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @column rank INTEGER rank of the process
// @column span_ns INTEGER from the begin of its first GPU work in the window to the end of its last, ns
// @column busy_ns INTEGER how much of the span some GPU work runs, overlapping work counted once, ns
// @column idle_ns INTEGER how much of the span none runs, ns
// @column compute_ns INTEGER how much of the span computation runs, ns
// @column non_compute_ns INTEGER how much of the span only communication or memory runs, ns
// @column communication_ns INTEGER how much of the span communication runs, hidden by computation or not, ns
// @column memory_ns INTEGER how much of the span copies and memsets run, hidden or not, ns
// @column idle_share FLOAT idle time as a share of the span, 0..1
// @column compute_share FLOAT time with computation as a share of the span, 0..1
// @column non_compute_share FLOAT time with GPU work but no computation as a share of the span, 0..1
// @column window_share FLOAT the span as a share of the window, 0..1
// @column devices INTEGER number of GPUs of the rank, whose time is counted together
// Order: rank.
// Empty when: no GPU work lies in the window.
// Needs: Kernel, Memcpy or Memset.
// Cost: reads the GPU work of the window once.

// @include gpu_work
WITH e.rank AS rank, e.kernel_type AS kernel_type, e.lane AS lane,
  CASE WHEN e.start_ns < $start_ns THEN $start_ns ELSE e.start_ns END AS first_ns,
  CASE WHEN e.end_ns > $end_ns THEN $end_ns ELSE e.end_ns END AS last_ns,
  [n IN [e.busy_ns, e.type_busy_ns] |
    // @include clipped_stretch
  ] AS added
WITH rank, kernel_type, lane, min(first_ns) AS first_ns, max(last_ns) AS last_ns, sum(added[0]) AS busy_ns,
  sum(added[1]) AS type_ns
MATCH (l:Lane {run: $run, lane: lane})
WITH rank, max(last_ns) - min(first_ns) AS span_ns, sum(busy_ns) AS busy_ns, count(DISTINCT l.device) AS devices,
  sum(CASE kernel_type WHEN 'computation' THEN type_ns ELSE 0 END) AS compute_ns,
  sum(CASE kernel_type WHEN 'communication' THEN type_ns ELSE 0 END) AS communication_ns,
  sum(CASE kernel_type WHEN 'memory' THEN type_ns ELSE 0 END) AS memory_ns
WITH *, CASE span_ns WHEN 0 THEN 1.0 ELSE toFloat(span_ns) END AS whole
RETURN rank, span_ns, busy_ns, span_ns - busy_ns AS idle_ns, compute_ns, busy_ns - compute_ns AS non_compute_ns,
  communication_ns, memory_ns, (span_ns - busy_ns) / whole AS idle_share, compute_ns / whole AS compute_share,
  (busy_ns - compute_ns) / whole AS non_compute_share, toFloat(span_ns) / ($end_ns - $start_ns) AS window_share, devices
ORDER BY rank
