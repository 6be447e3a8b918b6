"""What eight senders of large bodies do to everybody else: the latency of /livez and the server's memory."""
