"""What an owner costs a backend: `python -m benchmarks.backends`."""
