"""The answers of campaigns, each read as one document or table: stored estimates, on demand, of series, exports."""
