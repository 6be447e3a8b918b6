"""What can be asked: workloads of linear queries, statistics of pairs, and their specifications."""
