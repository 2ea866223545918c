// What the pools of the CUDA allocator hold at the end of a snapshot: used, rounded, cached, split.
// @param run STRING name of the run
// @column pool STRING `large`, `small`, or `all`
// @column reserved_bytes INTEGER taken from the device, B
// @column allocated_bytes INTEGER in blocks in use, B
// @column requested_bytes INTEGER what the program asked for in these blocks, B
// @column split_free_bytes INTEGER free parts of segments in use, B
// @column fragmentation FLOAT of what is reserved, free parts of segments in use, 0..1
// @column free_segment_bytes INTEGER cached: segments without a block in use, B
// @column largest_free_bytes INTEGER largest free block, B
// @column rounding_bytes INTEGER what the allocator added to that, B
// @column pending_bytes INTEGER in blocks that are freed once their streams are done, B
// @column segments INTEGER number of segments
// @column unused_share FLOAT of what is reserved, what is not allocated: cached for the most, 0..1
// @column expandable BOOLEAN whether segments can grow
// @column device INTEGER? index of the device
// @column recording STRING path of the recording
// Order: recording, device, pool.
// Empty when: no snapshot of memory was given with the run: tracegraph attach RUN FILE.
// Needs: MemoryPool.

MATCH (c:MemoryPool {run: $run})
RETURN c.pool AS pool, c.reserved_bytes AS reserved_bytes, c.allocated_bytes AS allocated_bytes,
  c.requested_bytes AS requested_bytes, c.split_free_bytes AS split_free_bytes, c.fragmentation AS
  fragmentation, c.free_segment_bytes AS free_segment_bytes, c.largest_free_bytes AS largest_free_bytes,
  c.rounding_bytes AS rounding_bytes, c.pending_bytes AS pending_bytes, c.segments AS segments,
  c.unused_share AS unused_share, c.expandable AS expandable, c.device AS device, c.recording AS recording
ORDER BY recording, device, pool
