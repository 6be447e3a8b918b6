"""What an export of many estimates costs the server."""
