"""A trusted curator: whoever holds people's rows lawfully answers a workload under concentrated or pure privacy."""
