// How much memory each class holds over time, by a snapshot or a timeline.
// @param run STRING name of the run
// @column at_ns INTEGER when it begins to hold, since 1970, ns
// @column class STRING what the memory is for
// @column bytes INTEGER bytes that it holds, B
// @column device INTEGER? index of the device
// @column recording STRING path of the recording
// Order: recording, device, at_ns, class.
// Empty when: no recording of memory was given with the run: tracegraph attach RUN FILE.
// Needs: MemoryLevel.

MATCH (c:MemoryLevel {run: $run})
RETURN c.at_ns AS at_ns, c.class AS class, c.bytes AS bytes, c.device AS device, c.recording AS recording
ORDER BY recording, device, at_ns, class
