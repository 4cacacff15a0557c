"""PSMM, the private signed measure mechanism: a noisy measure, and the nearest one that is a distribution."""
