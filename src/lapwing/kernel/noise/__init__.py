"""Secret bits, and exact samplers of integer noise and of selections; each with its proof."""
