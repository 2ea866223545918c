// What each class holds of the memory of a device when most is in use, by a snapshot or a timeline.
// @param run STRING name of the run
// @column class STRING what the memory is for
// @column bytes INTEGER bytes that the program asked for, B
// @column share FLOAT of all that is in use then, 0..1
// @column blocks INTEGER? number of blocks, null of a timeline
// @column evidence STRING `recorded`: PyTorch's own class; `inferred`: a rule tells it
// @column confidence FLOAT how sure it is, 0..1
// @column told_by STRING the rule
// @column at_ns INTEGER? when most is in use, since 1970; null: before the recording, ns
// @column device INTEGER? index of the device
// @column recording STRING path of the recording
// Order: recording, device, then bytes, the most first.
// Empty when: no recording of memory was given with the run: tracegraph attach RUN FILE.
// Needs: MemoryClass.

MATCH (c:MemoryClass {run: $run})
RETURN c.class AS class, c.bytes AS bytes, c.share AS share, c.blocks AS blocks, c.evidence AS evidence,
  c.confidence AS confidence, c.told_by AS told_by, c.at_ns AS at_ns, c.device AS device, c.recording AS
  recording
ORDER BY recording, device, bytes DESC, class
