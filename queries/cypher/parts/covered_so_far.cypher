// What spans [start, end] that are sorted by their start cover, one more span `a` at a time.
// state: [time covered so far, end of the spans so far]
CASE
  WHEN a[1] <= state[1] THEN state
  WHEN a[0] <= state[1] THEN [state[0] + a[1] - state[1], a[1]]
  ELSE [state[0] + a[1] - a[0], a[1]]
END
