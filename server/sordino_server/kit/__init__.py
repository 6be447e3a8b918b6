"""Database, clock and migrations: what every noun uses, without a domain word in it."""
