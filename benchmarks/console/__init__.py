"""What open consoles cost the server."""
