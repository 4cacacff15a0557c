"""For the owner's eyes: comparison with real rows, drafts and checks of schemas. Results are never released."""
