"""A whole campaign in one command: a real server, simulated devices, real flights."""
