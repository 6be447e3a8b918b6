"""False alarms of `sordino audit --empirical`, and the broken samplers that it finds."""
