// In which step and phase most memory is in use by a recording whose allocations are those of the trace.
// @param run STRING name of the run
// @column state STRING `aligned`; `no memory rows`: the trace has none of the device; `different`: they do not agree
// @column step INTEGER? number of the step in which most is in use; null where it is in none
// @column phase STRING? name of the phase
// @column peak_at_ns INTEGER? when, on the run's clock; null where it is unknown or before the recording, ns
// @column rank INTEGER? rank whose memory rows agree
// @column offset_ns INTEGER? what the recording's times lack of those of the run, ns
// @column matched INTEGER? changes that agree by time and size
// @column compared INTEGER? changes that lie in the time of both
// @column device INTEGER? index of the device, as the recording says it
// @column recording STRING path of the recording
// Order: recording, device.
// Empty when: no recording of memory was given with the run: tracegraph attach RUN FILE.
// Needs: MemoryAlignment.

MATCH (c:MemoryAlignment {run: $run})
CALL (c) {
  OPTIONAL MATCH (s:Step {run: $run, rank: c.rank}) WHERE s.start_ns <= c.peak_at_ns AND s.end_ns > c.peak_at_ns
  RETURN s.number AS step ORDER BY s.start_ns DESC LIMIT 1
}
CALL (c) {
  OPTIONAL MATCH (p:Phase {run: $run, rank: c.rank}) WHERE p.start_ns <= c.peak_at_ns AND p.end_ns > c.peak_at_ns
  RETURN p.name AS phase ORDER BY p.start_ns DESC, p.end_ns LIMIT 1
}
RETURN c.state AS state, step, phase, c.peak_at_ns AS peak_at_ns, c.rank AS rank, c.offset_ns AS offset_ns,
  c.matched AS matched, c.compared AS compared, c.device AS device, c.recording AS recording
ORDER BY recording, device
