"""The analyst's interface: what `import sordino_analysis as sa` offers, in plain values and numpy arrays."""
