"""The persistent ledger: what has been spent on each data set, across runs and processes.

A debit is on the disk before it returns, and no secret bit is drawn before that: a crash can waste budget and never
leaks any. There are no refunds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from os import PathLike
from typing import Self, TypeVar

from lapwing.errors import BudgetError, DataError
from lapwing.kernel.budget import accounts, chain
from lapwing.kernel.budget.accounts import Balance
from lapwing.kernel.budget.budget import Budget, Notion, Number, as_text, exact_number
from lapwing.kernel.budget.chain import SELECTION_UNITS, UNITS, Entry, Head
from lapwing.kernel.budget.store import Place, Session, place_of, store_of, transact

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ledger:
    """A ledger file. Make one with ``Ledger.open`` or ``Ledger.create_or_open``.

    Parameters
    ----------
    path : Path or str
        The SQLite file, or the address of a Postgres database, such as ``postgresql://user@host/name`` (``pip install
        "lapwing[office]"``; a password comes from ``PGPASSWORD`` or ``~/.pgpass``). It may hold several data sets,
        and many processes may use it at once.

    Notes
    -----
    Guarantee: for each data set, the costs of all debits that ever returned sum to at most its limit, and the deltas
    of their selections to at most its limit for selections, under the one neighbour relation and privacy unit fixed
    at ``init``, whatever the number of processes and wherever they are killed. See ``ledger.proof.md``.

    Wherever ``dataset`` may be None, it stands for the only data set in the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> ledger = Ledger.create_or_open(pathlib.Path(tempfile.mkdtemp()) / "budget.db")
    >>> terms = {"relation": "add-remove", "privacy_unit": "row"}
    >>> opened = ledger.init("adult", unit="pure", limit=1, **terms)
    >>> paid = ledger.debit("adult", "release 1", Budget.pure(0.3), **terms, description={"mechanism": "Independent"})
    >>> ledger.balance("adult").left
    Fraction(7, 10)
    """

    path: Place

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Self:
        """Open a ledger that exists; a DataError where there is none or the file is something else."""
        ledger = cls(place_of(path))
        if not store_of(path).exists(ledger.path):
            raise DataError(
                f"there is no ledger {ledger.path}; name one, or make it with `lapwing ledger init`", code="LW402"
            )
        ledger.datasets()
        return ledger

    @classmethod
    def create_or_open(cls, path: str | PathLike[str]) -> Self:
        """Open a ledger, made first where there is none; the file is readable by its owner only."""
        store_of(path).create_if_absent(place_of(path))
        return cls.open(path)

    def init(
        self,
        dataset: str,
        *,
        unit: Notion,
        limit: Number,
        delta: Number | None = None,
        selection_delta: Number | None = None,
        relation: str,
        privacy_unit: str,
        notes: Mapping[str, object] | None = None,
    ) -> Balance:
        """Open the account of a data set and fix its terms for good.

        Parameters
        ----------
        dataset : str
            A new name, 1 to 200 printable characters.
        unit : {"pure", "zcdp"}
            Keep the account in integers of 10^-9 epsilon (zCDP releases are refused), or of 10^-12 rho (a pure
            epsilon enters as epsilon^2 / 2).
        limit : number
            From 0 to 10^6, rounded down. An epsilon where ``unit`` is "pure", or ``delta`` is given (then converted
            to rho at once, so that converted epsilons are never summed); else a rho.
        delta : number, optional
            Above 0 and below 1, only with "zcdp".
        selection_delta : number, optional
            The most that the deltas of selections (questions that list what noisy counts show to be frequent) may sum
            to; from 10^-18 to below 1, rounded down to a multiple of 10^-18. By default 0: releases with selections
            are refused. Only with "zcdp". With ``delta`` it is a part of it and must be below it: the limit is then
            converted at what is left of ``delta``, so that everything together is (limit, delta)-DP.
        relation : add-remove or replace-one
            The neighbour relation of every release.
        privacy_unit : str
            "row" or "FIELD:MAXROWS", of every release.
        notes : Mapping, optional
            What its owner wants to be kept with the terms, as JSON can hold it.

        Returns
        -------
        Balance
            The state of the new account.

        Raises
        ------
        BudgetError
            When the data set has an account already.
        ParameterError
            When a setting is outside its range.
        """
        accounts.check_name("the name of a data set", dataset)
        terms = accounts.checked_terms(unit, delta, relation, privacy_unit)
        allowance = accounts.allowance_units(selection_delta, unit, terms["delta"])
        stated = None if terms["delta"] is None else Fraction(terms["delta"]) - Fraction(allowance, SELECTION_UNITS)
        units = accounts.limit_units(limit, unit, stated)
        details: dict[str, object] = {**(notes or {}), **terms, "limit": as_text(exact_number("limit", limit))}
        if allowance:
            asked = as_text(exact_number("selection_delta", selection_delta))
            details |= {"selection_delta": asked, "selection_units": allowance}

        def work(connection: Session) -> Balance:
            if dataset in accounts.names(connection):
                raise BudgetError(
                    f"data set {dataset!r} is in the ledger already and its terms are fixed; use another name, "
                    "or change the limit with `lapwing ledger limit`",
                    code="LW408",
                )
            connection.execute(
                "INSERT INTO accounts (dataset, unit, delta, relation, privacy_unit, limit_units) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (dataset, *terms.values(), units),
            )
            if allowance:
                connection.execute("INSERT INTO selections (dataset, limit_units) VALUES (?, ?)", (dataset, allowance))
            chain.append(connection, at=_time(connection), kind="init", dataset=dataset, units=units, details=details)
            return accounts.read_balance(connection, dataset)

        return self._changed(work)

    def debit(
        self,
        dataset: str | None,
        release_id: str,
        budget: Budget,
        *,
        relation: str,
        privacy_unit: str,
        description: Mapping[str, object],
        delta: Fraction = Fraction(0),
        check: Callable[[str, Entry, Callable[[], Sequence[Entry]]], None] = lambda *_: None,
    ) -> Entry:
        """Pay for one release; the entry is on the disk when this returns.

        Parameters
        ----------
        dataset : str or None
            The data set.
        release_id : str
            Names the release within the data set. A second debit of the same release and amount changes nothing and
            returns the first entry, so that a resumed release is paid once: never reuse an id for another release.
        budget : Budget
            Above 0; rounded up to a whole number of units.
        relation, privacy_unit : str
            The terms of the release; they must be those of the data set.
        description : Mapping
            Public settings worth keeping (mechanism, versions), as JSON can hold them; never anything from rows.
        delta : Fraction, default 0
            What the deltas of the release's selections sum to, from 0 to below 1; rounded up to a multiple of 10^-18.
        check : callable, optional
            Is called before the release is paid and may refuse it: with the time, the entry that opened the account,
            and what returns all its entries, after a check of the whole file. No other process debits meanwhile.

        Returns
        -------
        Entry
            The entry of this release.

        Raises
        ------
        BudgetError
            When less is left than the release costs, in budget or in the delta of selections, the terms differ, a
            zCDP release meets a pure account, the release was paid with another amount, or the file cannot be written.
        """
        accounts.check_name("release_id", release_id)
        details = accounts.debit_details(budget, delta, description)

        def work(connection: Session) -> Entry:
            account = accounts.read_balance(connection, dataset, release_id)
            accounts.check_release_terms(account, relation, privacy_unit)
            units = accounts.cost_units(account, budget)
            paid = accounts.read_entry(connection, account, release_id)
            if paid is not None:
                return accounts.same_release(account, paid, details)
            entries = partial(accounts.read_entries, connection, account)
            check(at := _time(connection), accounts.read_opening(connection, account, release_id), entries)
            if Fraction(units, UNITS[account.unit]) > account.left:
                raise accounts.overspent(account, units)
            accounts.check_selections(account, delta)
            row = chain.append(
                connection,
                at=at,
                kind="debit",
                dataset=account.dataset,
                units=units,
                details=details,
                release_id=release_id,
            )
            return Entry.from_row(row, account.unit)

        return transact(self.path, "BEGIN IMMEDIATE", work)

    def note_answers(self, dataset: str | None, release_id: str, digests: Sequence[str]) -> None:
        """Note the answers that a paid release has given, so that an older copy of its transcript is refused.

        Without this, each copy of a transcript that was cut short could be resumed to draw fresh noise for one debit.

        Parameters
        ----------
        dataset : str or None
            The data set.
        release_id : str
            A release that was debited.
        digests : sequence of str
            One digest per answer of the release so far, in order; `accounts.DRAWING` at the end where noise is about
            to be drawn: of several runs of one release, one gets past this.

        Raises
        ------
        BudgetError
            When more answers, others, or a draw were noted before, or the release was never paid.
        """

        def work(connection: Session) -> None:
            account = accounts.read_balance(connection, dataset, release_id)
            if accounts.read_entry(connection, account, release_id) is None:
                raise BudgetError(
                    f"release {release_id!r} was not debited; debit it before any answer is drawn", code="LW419"
                )
            accounts.note_answers(connection, account, release_id, digests)

        transact(self.path, "BEGIN IMMEDIATE", work)

    def is_drawing(self, dataset: str | None, release_id: str) -> bool:
        """Return whether noise of a release was about to be drawn, and its answers were not noted since."""

        def work(connection: Session) -> bool:
            account = accounts.read_balance(connection, dataset)
            return accounts.noted_answers(connection, account, release_id)[-1:] == [accounts.DRAWING]

        return self._read(work)

    def set_limit(self, dataset: str | None, limit: Number) -> Balance:
        """Change the limit of a data set, never below what is spent; the change is an entry of the chain.

        ``limit`` is an epsilon or a rho as it was at ``init``; what selections may spend stays as it is.
        """

        def work(connection: Session) -> Balance:
            account = accounts.read_balance(connection, dataset)
            units = accounts.limit_units(limit, account.unit, account.limit_delta)
            if Fraction(units, UNITS[account.unit]) < account.spent:
                raise BudgetError(
                    f"limit {limit} is below what data set {account.dataset!r} has spent, "
                    f"{account.describe(account.spent)}; give a higher limit",
                    code="LW409",
                )
            details = {"limit": as_text(exact_number("limit", limit))}
            at = _time(connection)
            chain.append(connection, at=at, kind="limit", dataset=account.dataset, units=units, details=details)
            return accounts.read_balance(connection, account.dataset)

        return self._changed(work)

    def find(self, dataset: str | None, release_id: str) -> Entry | None:
        """Return the entry that paid ``release_id``, or None."""
        return self._read(lambda file: accounts.read_entry(file, accounts.read_balance(file, dataset), release_id))

    def datasets(self) -> tuple[str, ...]:
        """Return the names of the data sets, sorted."""
        return self._read(accounts.names)

    def balance(self, dataset: str | None = None) -> Balance:
        """Return limit, spent, left and terms of a data set."""
        return self._read(lambda file: accounts.read_balance(file, dataset))

    def opening(self, dataset: str | None = None) -> Entry:
        """Return the entry that opened the account of a data set."""
        return self._read(lambda file: accounts.read_opening(file, accounts.read_balance(file, dataset)))

    def history(self, dataset: str | None = None) -> tuple[Entry, ...]:
        """Return all entries of a data set in order: its opening, debits and changes of the limit."""
        return self._read(lambda file: accounts.read_entries(file, accounts.read_balance(file, dataset)))

    def verify(self) -> int:
        """Check the hash chain, the accounts and answers against the entries, and the file's own rules.

        Returns
        -------
        int
            The number of entries in the file.

        Raises
        ------
        BudgetError
            When anything was changed by other means; it names the first thing that does not fit.
        """
        return len(self._read(chain.verify))

    def head(self, kept: str | None = None) -> Head:
        """Check as `verify` does, and return where the chain of hashes ends, to be kept elsewhere.

        Parameters
        ----------
        kept : str, optional
            A hash that was kept earlier, in hexadecimal digits. Whoever can write the file can also make a chain of
            other entries that fits, cut off its last ones, or put back an older copy; none of these has this hash.

        Raises
        ------
        BudgetError
            When anything was changed by other means, or no entry has the hash that was kept.
        ParameterError
            When ``kept`` is no hash.
        """
        wanted = None if kept is None else chain.read_hash(kept)
        return self._read(lambda connection: chain.head(chain.verify(connection), wanted))

    def identity(self) -> str | None:
        """Return what is this ledger's alone, whatever it is called: the hash of its first entry, if it has one."""
        asked = "SELECT hash FROM entries WHERE number = 1"
        return self._read(lambda connection: next((str(row[0]) for row in connection.execute(asked)), None))

    def unpaid(self, release_ids: Sequence[str]) -> frozenset[str]:
        """Return which of these releases no data set has debited."""

        def work(connection: Session) -> frozenset[str]:
            books = [accounts.read_balance(connection, name) for name in accounts.names(connection)]
            return frozenset(
                each for each in release_ids if not any(accounts.read_entry(connection, book, each) for book in books)
            )

        return self._read(work)

    def export(self, dataset: str | None = None) -> dict[str, object]:
        """Return the entries as plain JSON values, with which anyone can check the chain without the file.

        Parameters
        ----------
        dataset : str, optional
            Of the entries of other data sets only number and hash are told. By default all are told in full.

        Returns
        -------
        dict
            "units" says how many units make epsilon 1, rho 1 and delta 1, "first" is what stands for the hash before
            the first entry, and "entries" has the values in the order in which they are hashed.
        """

        def work(connection: Session) -> dict[str, object]:
            if dataset is not None:
                accounts.read_balance(connection, dataset)
            return chain.export_entries(chain.verify(connection), dataset)

        return self._read(work)

    def _read(self, work: Callable[[Session], T]) -> T:
        return transact(self.path, "BEGIN", work)

    def _changed(self, work: Callable[[Session], T]) -> T:
        """Run ``work`` on a file that fits; it is checked first, so that others wait for no more than the work."""
        self.verify()
        return transact(self.path, "BEGIN IMMEDIATE", work)


def _time(connection: Session) -> str:
    """Return the time by the store's own clock, where it has one."""
    return connection.clock() or _now()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
