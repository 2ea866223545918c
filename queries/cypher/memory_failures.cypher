// Allocations that failed for want of memory, with what was in use then, by a snapshot.
// @param run STRING name of the run
// @column bytes INTEGER bytes that were asked for, B
// @column device_free_bytes INTEGER? free on the device then, B
// @column used_bytes INTEGER? in use then, B
// @column cached_bytes INTEGER? held by the allocator without use, B
// @column largest_class STRING? class that used most then
// @column largest_class_bytes INTEGER? what it used, B
// @column file STRING? file of the innermost frame that is the user's
// @column line INTEGER? line in it
// @column function STRING? its function
// @column at_ns INTEGER? when, since 1970, ns
// @column device INTEGER? index of the device
// @column recording STRING path of the recording
// Order: recording, device, at_ns.
// Empty when: no snapshot that holds one was given with the run: tracegraph attach RUN FILE.
// Needs: MemoryFailure.

MATCH (c:MemoryFailure {run: $run})
RETURN c.bytes AS bytes, c.device_free_bytes AS device_free_bytes, c.used_bytes AS used_bytes,
  c.cached_bytes AS cached_bytes, c.largest_class AS largest_class, c.largest_class_bytes AS
  largest_class_bytes, c.file AS file, c.line AS line, c.function AS function, c.at_ns AS at_ns, c.device AS
  device, c.recording AS recording
ORDER BY recording, device, at_ns
