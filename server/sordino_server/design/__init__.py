"""Design time: a workload becomes a mechanism with exact variances and a certificate of how good it is."""
