"""The estimates of a series: of its periods, of windows of them, of the changes between these, and a trend."""
