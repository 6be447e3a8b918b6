"""Background work: the worker, its metrics, and the process that computes one plan."""
