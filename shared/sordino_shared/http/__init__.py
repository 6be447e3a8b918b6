"""Read answers of HTTP servers that nobody has to trust: bounded in bytes, in memory and in time."""
