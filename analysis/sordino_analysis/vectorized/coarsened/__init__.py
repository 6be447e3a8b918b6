"""Reports of a coarsened randomizer, many at once: partitions, labels, bit fields."""
