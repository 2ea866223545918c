// Where the memory was allocated that is in use when most is: the line of the user, by a snapshot.
// @param run STRING name of the run
// @column class STRING what the memory is for
// @column file STRING? file of the innermost frame that is the user's
// @column line INTEGER? line in it
// @column function STRING? its function; below autograd's engine the step of backward
// @column bytes INTEGER bytes that it asked for, B
// @column share FLOAT of all that is in use then, 0..1
// @column blocks INTEGER number of blocks
// @column module STRING? lines that called the modules around it, the outermost first
// @column device INTEGER? index of the device
// @column recording STRING path of the recording
// Order: recording, device, then bytes, the most first.
// Empty when: no snapshot of memory was given with the run: tracegraph attach RUN FILE.
// Needs: MemorySource.

MATCH (c:MemorySource {run: $run})
RETURN c.class AS class, c.file AS file, c.line AS line, c.function AS function, c.bytes AS bytes, c.share
  AS share, c.blocks AS blocks, c.module AS module, c.device AS device, c.recording AS recording
ORDER BY recording, device, bytes DESC, class, file, line, function, module
