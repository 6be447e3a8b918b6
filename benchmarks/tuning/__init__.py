"""What each constant of a search trades: plans at half, once and twice its value."""
