"""Several rounds for a class of rules: all of them, then the best ones, then the one that is left."""
