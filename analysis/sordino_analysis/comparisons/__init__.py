"""Two estimates of different devices compared: which queries they have in common, and how far their answers differ."""
