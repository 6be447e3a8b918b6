"""The best Gaussian noise of a trusted curator, with dual proofs of how good it is."""
