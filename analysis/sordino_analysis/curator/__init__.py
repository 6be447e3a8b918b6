"""A trusted curator: an operator that holds people's rows lawfully answers under concentrated or pure privacy."""
