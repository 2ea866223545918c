// What lies in the largest segments of the CUDA allocator at the end of a snapshot, in the order of addresses.
// @param run STRING name of the run
// @column segment INTEGER which segment: 0 is the largest
// @column segment_bytes INTEGER size of the segment, B
// @column pool STRING `large` or `small`
// @column begin_bytes INTEGER where the part begins, from the start of the segment, B
// @column bytes INTEGER size of the part, B
// @column state STRING `in use`, `waits for a stream`, `split free`, or `cached whole`
// @column class STRING? what it is for, as `memory_classes` names it; null where it is free
// @column blocks INTEGER number of neighbouring blocks that it is made of
// @column device INTEGER? index of the device
// @column recording STRING path of the recording
// Order: recording, device, segment, begin_bytes.
// Empty when: no snapshot of memory was given with the run: tracegraph attach RUN FILE.
// Needs: MemorySegmentPart.

MATCH (c:MemorySegmentPart {run: $run})
RETURN c.segment AS segment, c.segment_bytes AS segment_bytes, c.pool AS pool, c.begin_bytes AS begin_bytes,
  c.bytes AS bytes, c.state AS state, c.class AS class, c.blocks AS blocks, c.device AS device,
  c.recording AS recording
ORDER BY recording, device, segment, begin_bytes
