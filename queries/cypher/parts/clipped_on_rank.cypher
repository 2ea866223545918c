// The length of segment `s` in the window on its rank: two bounds chosen for every row would take longer.
s.end_ns - s.start_ns
  - CASE WHEN s.start_ns < start_ns THEN start_ns - s.start_ns ELSE 0 END
  - CASE WHEN s.end_ns > end_ns THEN s.end_ns - end_ns ELSE 0 END
