"""How objects show themselves in a notebook: one card of HTML each, without a script, from what their text says too."""
