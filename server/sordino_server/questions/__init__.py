"""What is known: a tile for each question, from the headline that is stored with its campaign and no estimate."""
