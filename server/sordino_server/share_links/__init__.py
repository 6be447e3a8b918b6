"""Links to a result for people without a key: each shows one stored estimate, and can be taken back."""
