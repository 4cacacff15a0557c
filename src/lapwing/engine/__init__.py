"""The engine: equal particles that move until their tables are the targets. Tables in; particles and theta out.

It works on released numbers alone, knows nothing of schemas or budgets, and is deterministic given its generator.
`lapwing.engine.tables` has the words (`Axis`, `Factor`), `lapwing.engine.particles` what is done with them,
`lapwing.engine.kernel` the one compiled loop. `particles.proof.md` says where it comes to rest.
"""
