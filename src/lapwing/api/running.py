"""Run a mechanism in the room and certify what came out."""

from collections.abc import Callable, Sequence

from lapwing.api.certify import certify
from lapwing.api.finishing import finished_model
from lapwing.api.generators import generator
from lapwing.api.progress import ReleaseProgress
from lapwing.api.records import Records
from lapwing.api.release import Release
from lapwing.api.settings import Settings
from lapwing.curator.opening import open_room
from lapwing.mechanisms.registry import check_mechanism
from lapwing.noise.bits import BitSource
from lapwing.release.questions import Answer, answer_from_dict
from lapwing.release.select_worst import Selected
from lapwing.release.terms import Terms
from lapwing.release.transcript import AnswerSink, Watched
from lapwing.table.source import CodedSource


def run_release(
    source: CodedSource,
    settings: Settings,
    terms: Terms,
    records: Records,
    *,
    debit: Callable[[], None],
    sink: AnswerSink,
    secret_bits: Callable[[], BitSource],
    recorded: Sequence[Answer] = (),
    most_cells: int | None = None,
) -> Release:
    """Check, debit, ask, solve, finish, certify.

    Parameters
    ----------
    source : CodedSource
        The private rows; only the room looks at them.
    settings, terms, records
        What is public about the release, and where it is recorded.
    debit : callable
        Commits the ledger entry; raises when the ledger refuses.
    sink : AnswerSink
        Where answers become durable.
    secret_bits : callable
        Makes the source of secret randomness, after the debit.
    recorded : sequence of answers
        Answers of an interrupted run, given again without a draw.
    most_cells : int or None
        As for `lapwing.curator.room.Room`.

    Returns
    -------
    Release
        A function of the answers, the settings and the seed alone.
    """
    check_mechanism(settings.mechanism, settings.schema, settings.request.budget, terms)
    answers, progress = list(recorded), ReleaseProgress(settings, recorded)

    def keep(new: Sequence[Answer]) -> None:
        answers.extend(map(_as_recorded, new))
        progress.add(new)

    room = open_room(
        source,
        settings.schema,
        terms,
        settings.request.budget,
        debit=debit,
        secret_bits=secret_bits,
        sink=Watched(sink, keep),
        recorded=recorded,
        most_cells=most_cells,
    )
    model = settings.mechanism.run(room, settings.schema, settings.request.budget, generator(settings.seed, "fit"))
    model.validate(settings.schema)
    finished = finished_model(model, settings.schema, settings.seed)
    return Release(
        schema=settings.schema,
        model=finished.model,
        certificate=certify(settings, terms, records, tuple(answers), model, finished=finished),
        noisy=tuple(answers),
        seed=settings.seed if settings.is_seeded else None,
    )


def _as_recorded(answer: Answer) -> Answer:
    """Return an answer as a record gives it back: a selection without its estimates, which are many megabytes."""
    return answer_from_dict(answer.to_dict()) if isinstance(answer, Selected) else answer
