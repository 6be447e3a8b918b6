"""sordino-shuffler: collects sealed reports, mixes a blanket of random ones in, and hands on one batch a round."""

__version__ = "0.1.0"
