"""Record and play, as published: each noisy primitive of a release with what goes in, on a table and on a neighbour.

The method is that of Cebere, Erb, Desfontaines, Bellet and Fitzsimons (2026), "Privacy in Theory, Bugs in Practice",
written anew from its description; their tool, dp-recorder, is in no registry. A run on one table records each
primitive: its parameters, the number that goes in, and the noisy one that comes out. The run on the neighbour is given
the same noisy numbers: it must then call the same primitives with the same parameters and make the same release. What
goes in differs by a distance, which with the noise that is really drawn makes a privacy loss distribution; Google's
dp-accounting composes them.

Nothing here asks Lapwing what a question costs, or how far its answer moves: `lapwing.extras.audit` does that by
another way.
"""

from dataclasses import dataclass, field

import numpy as np

import lapwing.kernel.questions.answering as counting
import lapwing.kernel.questions.select_worst.answer as choosing
import lapwing.kernel.questions.sparse_counts.answer as counting_cells
import lapwing.kernel.questions.split_decisions.answer as splitting
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript

ADDED = (
    (counting, "discrete_laplace"),
    (counting, "discrete_gaussian"),
    (counting_cells, "discrete_laplace"),
    (splitting, "discrete_laplace"),
)
"""Where the room draws noise that it adds to exact numbers."""


class DivergenceError(AssertionError):
    """The neighbour's run called another primitive, or the same one with other parameters."""


@dataclass
class Call:
    """A primitive: its kind and parameters, what went in on each table, and what came out."""

    kind: str
    parameters: tuple
    inputs: list = field(default_factory=list)
    output: object = None


@dataclass
class Player:
    """Records the calls of one run, and plays them back to the next."""

    calls: list = field(default_factory=list)
    place: int | None = None

    def called(self, kind, parameters, exact, made):
        """Return what a primitive gives: made anew, or what was recorded."""
        if self.place is None:
            self.calls.append(Call(kind, parameters, [exact], made()))
            return self.calls[-1].output
        if self.place == len(self.calls):
            raise DivergenceError(f"a {kind} more than was recorded")
        call = self.calls[self.place]
        self.place += 1
        if (call.kind, call.parameters) != (kind, parameters):
            raise DivergenceError(f"call {self.place}: {call.kind} {call.parameters} became {kind} {parameters}")
        call.inputs.append(exact)
        return call.output

    def noise(self, kind, sampler):
        """Return a sampler whose noise tells the player what it is added to."""

        def sample(parameter, size, bits):
            noise = sampler(parameter, size, bits)
            return Added(self, kind, parameter, noise) if size else noise

        return sample

    def selection(self, mechanism):
        """Return the exponential mechanism, played."""

        def choose(scores, epsilon, sensitivity, bits):
            parameters = (epsilon, sensitivity, len(scores))
            return self.called("selection", parameters, scores, lambda: mechanism(scores, epsilon, sensitivity, bits))

        return choose


class Added(np.lib.mixins.NDArrayOperatorsMixin):
    """Noise that is good for one thing: to be added to exact numbers."""

    def __init__(self, player, kind, parameter, noise):
        self.player, self.kind, self.parameter, self.noise = player, kind, parameter, noise

    def reshape(self, shape):
        """Return the noise in another shape."""
        return Added(self.player, self.kind, self.parameter, self.noise.reshape(shape))

    def __array_ufunc__(self, ufunc, method, *inputs, **settings):
        """Add, and nothing else."""
        exact, noise = inputs
        if ufunc is not np.add or method != "__call__" or noise is not self or settings:
            raise DivergenceError(f"noise is used by {ufunc.__name__}")
        exact = np.array(exact)
        return self.player.called(self.kind, (self.parameter, exact.shape), exact, lambda: exact + self.noise)


def played(mechanism, schema, budget, terms, sources, patch):
    """Return the calls of a release of the first table, played to the second, and whether both models are the same.

    Parameters
    ----------
    mechanism, schema, budget, terms
        Of the release.
    sources : pair of CodedSource
        Two neighbours.
    patch : pytest.MonkeyPatch
        Instruments the room until it is undone.
    """
    player = Player()
    for module, name in ADDED:
        patch.setattr(module, name, player.noise(name, getattr(module, name)))
    patch.setattr(choosing, "exponential_mechanism", player.selection(choosing.exponential_mechanism))
    models = []
    for source in sources:
        room = Room(source, schema, terms, budget, bits=SystemBits(), sink=NoTranscript())
        models.append(mechanism.run(room, schema, budget, np.random.default_rng(5)))
        player.place = 0
    if any(len(call.inputs) != len(models) for call in player.calls):
        raise DivergenceError("a primitive less than was recorded")
    one, other = models
    return player.calls, (one.rows, one.weights.tolist()) == (other.rows, other.weights.tolist())
