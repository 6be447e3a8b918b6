"""What a site of results costs: `python -m benchmarks.publish`."""
