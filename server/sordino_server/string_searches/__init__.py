"""What follows an estimate of strings: wider searches, never certified, and a closed question about what was found."""
