"""Common strings that nobody can list: levels of a text code, their decoder, certification, and their plan."""
