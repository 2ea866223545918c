// The frames of steps: they bear the marker of all steps, and only the segments of a step know its own name.
WITH *, COLLECT {
  OPTIONAL MATCH (t:Step {run: $run})
  WITH collect(DISTINCT t.marker) + ['ProfilerStep#'] AS markers
  // `frame >= 0` lets the index on (run, frame) find the frames of the run.
  MATCH (f:Frame {run: $run}) WHERE f.frame >= 0 AND f.name IN markers
  RETURN f.frame
} AS step_frames
