"""Documents that only analysts read, in the same canonical form as those of devices."""
