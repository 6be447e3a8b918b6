"""The search for the best finite kernel of a dense workload: kernel and decoder optimised together."""

from sordino_analysis.optimisation.search.joint import KernelDesign, search_kernel

__all__ = ["KernelDesign", "search_kernel"]
