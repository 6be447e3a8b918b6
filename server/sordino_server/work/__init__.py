"""Work in other processes: forks of one that has imported what the work needs, within limits of memory and time."""
