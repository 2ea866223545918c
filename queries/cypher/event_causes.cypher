// Why an event started when it did, and why not for another reason: every candidate cause of each of its starts.
// @param run STRING name of the run
// @param source_index INTEGER 0-based position of the event in its file's traceEvents
// @param rank INTEGER rank of the process, default 0 (a command: the first of the run)
// @param limit INTEGER starts listed, earliest first, 1..200, default 20
// @column effect_start_ns INTEGER when the event, or a segment of it that something else led to, started, ns
// @column effect_lane_name STRING readable name of its lane
// @column effect_name STRING name of the event, or what it is called where the event waits
// @column cause_name STRING name of the candidate, or of the gap
// @column cause_category STRING its category, `gap` for a wait or untraced time
// @column cause_source_index INTEGER? its position in the file's traceEvents, null for what is no event
// @column cause_lane_name STRING readable name of its lane
// @column cause_start_ns INTEGER its start, ns
// @column cause_end_ns INTEGER its end, ns
// @column dependency STRING relationship type
// @column mechanism STRING the rule that made it
// @column evidence STRING `recorded` or `inferred`
// @column confidence FLOAT how sure the rule is, 0..1
// @column completion_ns INTEGER when it was complete: the lag begins there, ns
// @column arrival_ns INTEGER when the event could have started by it alone: completion plus the lag of a replay, ns
// @column earlier_ns INTEGER how long before the start that was, ns
// @column gap_ns INTEGER observed between its completion and the start, ns
// @column lag_ns INTEGER what a replay adds to its completion, ns
// @column margin_ns INTEGER? how much later the chosen cause of this start comes than the second-best, ns
// @column binding BOOLEAN whether it is the chosen one, which explains the start
// @column verdict STRING why it was chosen, or why not
// Order: start, then the chosen cause, then the others, the last to arrive first.
// Empty when: there is no such event, it has no time of its own, or it starts the window.

MATCH (e:Event {run: $run, source_index: $source_index, rank: $rank})
CALL (e) {
  WITH e WHERE e:Segment RETURN e AS piece
  UNION
  MATCH (piece:Segment)-[:PART_OF]->(e) RETURN piece
}
WITH piece ORDER BY piece.start_ns, piece.end_ns
WITH collect(piece) AS pieces
UNWIND pieces AS piece
// Where the event only goes on after what ran inside it, there is nothing to ask.
WITH piece, pieces[0] AS first
WHERE piece = first OR EXISTS {
  (piece)<-[:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD]-(c:Segment) WHERE c.lane <> piece.lane
}
WITH piece ORDER BY piece.start_ns, piece.end_ns LIMIT $limit
MATCH (piece)<-[d:SEQUENTIAL|INVOCATION|SYNCHRONIZATION|CROSS_THREAD]-(cause:Segment)
WITH piece, cause, d, d.gap_ns - d.lag_ns AS earlier_ns,
  // Rules whose races are decided by the likelihood of their lags, where they come within 20 µs.
  d.mechanism IN ['launch', 'graph launch', 'stream order', 'graph order', 'stream wait event'] AND d.gap_ns - d.lag_ns <= 20000 AS close
WITH piece, count(*) AS candidates, sum(CASE WHEN close THEN 1 ELSE 0 END) > 1 AS race,
  collect({d: d, cause: cause, earlier_ns: earlier_ns, close: close}) AS found
MATCH (here:Lane {run: $run, lane: piece.lane})
UNWIND found AS one
WITH piece, candidates, race, here, one.d AS d, one.cause AS cause, one.earlier_ns AS earlier_ns, one.close AS close
MATCH (there:Lane {run: $run, lane: cause.lane})
RETURN piece.start_ns AS effect_start_ns, here.name AS effect_lane_name, piece.name AS effect_name,
  cause.name AS cause_name, CASE cause.kind WHEN 'work' THEN cause.category ELSE 'gap' END AS cause_category,
  CASE cause.kind WHEN 'work' THEN cause.source_index END AS cause_source_index,
  there.name AS cause_lane_name, cause.start_ns AS cause_start_ns, cause.end_ns AS cause_end_ns,
  type(d) AS dependency, d.mechanism AS mechanism, d.evidence AS evidence, d.confidence AS confidence,
  piece.start_ns - d.gap_ns AS completion_ns, piece.start_ns - earlier_ns AS arrival_ns, earlier_ns,
  d.gap_ns AS gap_ns, d.lag_ns AS lag_ns, piece.margin_ns AS margin_ns, d.binding AS binding,
  CASE
    WHEN d.binding AND candidates = 1 THEN 'binding: the only candidate'
    WHEN d.binding AND piece.margin_ns = 0 THEN 'binding, but a near-tie: another cause is nearly as likely'
    WHEN d.binding AND race AND close THEN 'binding: the likeliest lag of a close race'
    WHEN d.binding THEN 'binding: the last to arrive'
    WHEN d.mechanism = 'GIL holder' THEN 'never binding: who gets the GIL next is nobody\'s decision'
    WHEN earlier_ns <= 0 THEN 'arrived at the start, too: the order of the rules decides'
    WHEN race AND close THEN 'close race: its lag is less likely; arrived ' + toString(earlier_ns) + ' ns earlier'
    WHEN cause.kind = 'wait'
      THEN 'a wait is complete when it begins; arrived ' + toString(earlier_ns) + ' ns earlier'
    ELSE 'arrived ' + toString(earlier_ns) + ' ns earlier'
  END AS verdict
ORDER BY effect_start_ns, binding DESC, earlier_ns, mechanism, cause_start_ns, cause_end_ns
