"""Cards: what a campaign or a dataset asks, promises and keeps, for the people who have to sign it."""
