"""One table for every answer: its columns, and one writer for each form of file."""
