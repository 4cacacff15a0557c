"""One folder per published system: settings, `run` (ask, solve, model), and its own steps, bounds and proofs.

Enters: a `Curator`, a schema, a budget, a public generator. Leaves: a `ReleasedModel`. A mechanism never sees a row: no
chain of imports leads from here to readers or answers.
"""
