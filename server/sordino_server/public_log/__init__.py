"""The public log of what this server asks: entries, the tree, checkpoints, witnesses, and proofs for devices."""
