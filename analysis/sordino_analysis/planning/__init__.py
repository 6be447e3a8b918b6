"""From a request to a published plan with its certificate."""
