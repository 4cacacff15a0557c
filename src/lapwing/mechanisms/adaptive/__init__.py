"""Adaptive: marginals at several resolutions, chosen in rounds, and particles fitted to all of them."""
