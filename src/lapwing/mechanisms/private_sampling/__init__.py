"""PrivateSampling: rows drawn from a density without noise."""
