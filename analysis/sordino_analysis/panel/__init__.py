"""The rotating panel of a series: estimates of its periods, windows and changes, and what a rotation costs."""
