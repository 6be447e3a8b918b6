"""Several servers of one campaign: the home decides, collectors mirror it and send it their sums."""
