// Whether there are operations between ranks that no GPU runs: those of back ends on threads, which annotate them, or
// of ranks in short. Frames are few, and tell it at once; to look for it in all events takes far longer. `frame >= 0`
// lets their index find them.
WITH EXISTS {
  MATCH (f:Frame {run: $run})
  WHERE f.frame >= 0 AND (f.category = 'collective_comm'
    OR f.category = 'user_annotation' AND any(library IN ['gloo:', 'mpi:', 'ucc:'] WHERE f.name STARTS WITH library))
} AS off_gpus
