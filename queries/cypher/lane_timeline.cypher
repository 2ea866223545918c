// The work on every lane in a window, for drawing: what is shorter than a pixel is merged.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param pixel_ns INTEGER width of a pixel, ns, 1..1000000000000
// @column lane INTEGER lane id
// @column start_ns INTEGER start, clipped to the window, ns
// @column end_ns INTEGER end, clipped to the window, ns
// @column name STRING? name of the event, null where several names were merged
// @column category STRING Kineto category
// @column count INTEGER number of segments in the row
// @column slack_ns INTEGER? least slack of them: by how much one may end later without lengthening the run, ns
// Order: lane, start, end, category.
// Empty when: no work lies in the window.
// Cost: reads all segments in the window; at most lanes x pixels x categories rows.

// Chains are pruned first; `chain >= 0` lets the index on (run, chain) find those of the run.
MATCH (c:Chain {run: $run})
WHERE c.chain >= 0 AND c.start_ns < $end_ns AND c.end_ns > $start_ns
MATCH (s:Segment {run: $run, chain: c.chain})
// What is no event has no place in the file.
WHERE s.start_ns < $end_ns AND s.end_ns > $start_ns AND s.frame IS NOT NULL AND s.source_index IS NOT NULL
WITH c.lane AS lane, s.name AS name, s.category AS category, s.end_ns AS end_ns, s.slack_ns AS slack_ns,
  CASE WHEN s.start_ns < $start_ns THEN $start_ns ELSE s.start_ns END AS start_ns
WHERE start_ns <> end_ns
// Long stretches keep their own start as key, below 0 to tell it from that of a pixel, which short ones share.
WITH lane, category, CASE
    WHEN end_ns - start_ns < $pixel_ns OR $end_ns - start_ns < $pixel_ns THEN (start_ns - $start_ns) / $pixel_ns
    ELSE $start_ns - start_ns - 1
  END AS key,
  min(start_ns) AS start_ns, max(end_ns) AS end_ns, min(name) AS first, max(name) AS last, count(*) AS count,
  min(slack_ns) AS slack_ns
RETURN lane, start_ns, CASE WHEN end_ns > $end_ns THEN $end_ns ELSE end_ns END AS end_ns,
  CASE WHEN first = last THEN first END AS name, category, count, slack_ns
ORDER BY lane, start_ns, end_ns, category
