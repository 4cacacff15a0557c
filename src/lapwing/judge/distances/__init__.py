"""Distances of distributions: kernels, Wasserstein, bounded Lipschitz."""
