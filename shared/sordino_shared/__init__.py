"""What runs on both sides of sordino: protocol, randomizers and the integer proof of ε."""

__version__ = "0.1.0"
