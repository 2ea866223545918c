// Hardware counters by operator and kernel: how often each was read, and what it counted.
// @param run STRING name of the run
// @param start_ns INTEGER start of the window, ns
// @param end_ns INTEGER end of the window, ns
// @param rank INTEGER? rank of the process, null for all
// @param limit INTEGER rows listed, 1..100000, default 10000
// @column rank INTEGER rank of the process
// @column counter STRING name of the counter, its metric; values are in its own unit
// @column operator STRING? innermost operator around the launch, null where the range belongs to no known one
// @column top_operator STRING? outermost operator around the launch
// @column kernel STRING name of the range, usually that of the kernel
// @column count INTEGER number of ranges
// @column sum FLOAT what they counted together
// @column mean FLOAT mean of a range
// @column std FLOAT sample standard deviation, 0 for one range
// @column min FLOAT least of a range
// @column max FLOAT most of a range
// @column evidence STRING? how ranges and launches were paired, null where they were not
// @column confidence FLOAT? how sure the least sure pair is, 0..1
// Order: rank, operator, top operator, kernel and counter.
// Empty when: the run holds no hardware counters.
// Needs: Counter.
// Cost: reads all counters of the run once.

// @include measured_ranges
WITH c.rank AS rank, c.name AS counter, c.range AS kernel, evidence, confidence, c.value AS value,
  head(operators).name AS operator, last(operators).name AS top_operator
RETURN rank, counter, operator, top_operator, kernel, count(*) AS count, sum(value) AS sum, avg(value) AS mean,
  stDev(value) AS std, min(value) AS min, max(value) AS max, min(evidence) AS evidence,
  min(confidence) AS confidence
ORDER BY rank, operator, top_operator, kernel, counter LIMIT $limit
