"""From what the reports add up to, to answers with standard errors, intervals and a simultaneous band."""
