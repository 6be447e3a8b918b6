"""Best guesses: histograms that are nearer to the users than the unbiased answers are on average, and biased."""
