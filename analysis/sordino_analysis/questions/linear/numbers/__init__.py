"""Questions about numbers: means and what goes with them, of all users and by category."""
