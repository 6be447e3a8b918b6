"""Read answers of untrusted HTTP servers: bounded in bytes, in memory and in time."""
