"""The front door: the few public verbs, and what they need."""
