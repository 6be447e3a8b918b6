"""What a public log costs its monitors and devices: `python -m benchmarks.public_log`."""
