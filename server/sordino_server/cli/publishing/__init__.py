"""A static site of results: pages of HTML without script, and the folder that holds nothing else."""
