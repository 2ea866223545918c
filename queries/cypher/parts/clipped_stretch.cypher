// The length in the window of a stretch `n` that ends with `e`; null has none.
CASE
  WHEN n IS NULL THEN 0
  WHEN e.end_ns <= $end_ns AND e.end_ns - n >= $start_ns THEN n
  WHEN e.end_ns - n >= $end_ns THEN 0
  ELSE CASE WHEN e.end_ns < $end_ns THEN e.end_ns ELSE $end_ns END
    - CASE WHEN e.end_ns - n > $start_ns THEN e.end_ns - n ELSE $start_ns END
END
