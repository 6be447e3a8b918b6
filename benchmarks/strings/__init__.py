"""Common strings: what is found with real reports, and at which cost."""
