"""Amounts of privacy budget: exact, in one notion, never negative."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Literal, Self

from lapwing.errors import BudgetError, ParameterError
from lapwing.kernel.budget.conversions import rho_for

# -- Read a setting as an exact rational number.


# The lengths are limited because "1e999999999" is ten characters of text and a gigabyte of integer.
_DECIMAL = r"(\d{1,60}(\.\d{0,60})?|\.\d{1,60})(e[+-]?\d{1,3})?"
_TEXT = re.compile(rf"[+-]?({_DECIMAL}|\d{{1,60}}/0*[1-9]\d{{0,59}})", re.IGNORECASE | re.ASCII)


def exact_number(setting: str, value: object) -> Fraction:
    """Read ``value`` as an exact fraction.

    value: a float is read through its shortest decimal text; text may be a decimal (``"0.5"``, ``"1e-9"``) or a ratio
    (``"1/3"``).

    >>> exact_number("epsilon", 0.1)
    Fraction(1, 10)
    >>> exact_number("epsilon", "1/3")
    Fraction(1, 3)
    """
    if isinstance(value, bool):
        raise ParameterError(
            f"{setting} must be a number, got the truth value {value}; give a number such as 0.5", code="LW301"
        )
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if not isinstance(value, str | Real | Decimal):
        raise ParameterError(
            f"{setting} must be a number, got a {type(value).__name__}; give a number such as 0.5", code="LW301"
        )
    text = str(value).strip()
    if _TEXT.fullmatch(text) is None:
        raise ParameterError(
            f"{setting} must be a finite number, got {text[:60]!r}; give a number such as "
            f"{'1e-9' if setting == 'delta' else '0.5'}",
            code="LW301",
        )
    return Fraction(text)


def positive_number(setting: str, value: object) -> Fraction:
    """Read ``value`` as an exact fraction above 0, or raise a ParameterError that names ``setting``."""
    number = exact_number(setting, value)
    if number <= 0:
        raise ParameterError(
            f"{setting} must be above 0, got {value}; give a positive number such as 0.5", code="LW301"
        )
    return number


def as_text(number: Fraction) -> str:
    """Write a fraction for a message or a file: an exact decimal where one exists, else ``p/q``.

    >>> as_text(Fraction(1, 8)), as_text(Fraction(3)), as_text(Fraction(1, 3))
    ('0.125', '3', '1/3')
    """
    rest, places = number.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        places = max(places, power)
    if rest != 1:
        return str(number)
    digits = f"{abs(number.numerator) * 10**places // number.denominator:0{places + 1}d}"
    sign = "-" if number < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


Notion = Literal["pure", "zcdp"]
Number = int | float | str | Fraction

# The ledger's smallest amounts; a smaller one would cost nothing there, and its noise would not fit 64-bit counts.
_SMALLEST = {"epsilon": Fraction(1, 10**9), "rho": Fraction(1, 10**12)}
_LARGEST = 10**9


@dataclass(frozen=True, slots=True)
class Budget:
    """An amount of privacy budget.

    Parameters
    ----------
    notion : {"pure", "zcdp"}
        What the amount measures: epsilon of pure differential privacy, or rho of zero-concentrated privacy.
    amount : Fraction
        Epsilon or rho, at least 0.

    Notes
    -----
    Guarantee: amounts are exact rationals, so sums and splits never round. Amounts of one notion compose by addition
    (basic composition for epsilon; Bun and Steinke 2016, Lemma 1.7, for rho), also where later amounts are chosen
    after earlier answers (Rogers et al. 2016; Feldman and Zrnic 2021; Whitehouse et al. 2023).

    Examples
    --------
    >>> whole = Budget.pure(1)
    >>> whole.split((1, 2))
    (Budget.pure('1/3'), Budget.pure('2/3'))
    """

    notion: Notion
    amount: Fraction

    def __post_init__(self) -> None:
        if self.notion not in ("pure", "zcdp"):
            raise ParameterError(f"the notion of a budget must be 'pure' or 'zcdp', got {self.notion!r}", code="LW418")
        if not isinstance(self.amount, Fraction):
            raise ParameterError(
                f"the amount of a budget must be a Fraction, got a {type(self.amount).__name__}", code="LW418"
            )
        if self.amount < 0:
            raise BudgetError(f"a budget cannot be negative, got {as_text(self.amount)}; ask for less", code="LW418")

    @classmethod
    def pure(cls, epsilon: Number) -> Self:
        """Return a budget of pure differential privacy; ``epsilon`` is above 0, a float is read as it is written."""
        return cls("pure", positive_number("epsilon", epsilon))

    @classmethod
    def zcdp(cls, rho: Number) -> Self:
        """Return a budget of zero-concentrated privacy; ``rho`` is above 0, a float is read as it is written."""
        return cls("zcdp", positive_number("rho", rho))

    @property
    def epsilon(self) -> Fraction:
        """The amount of a pure budget; a ParameterError for the other notion."""
        if self.notion != "pure":
            raise ParameterError(
                "a zcdp budget has a rho and no epsilon; convert it with epsilon_for(rho, delta)", code="LW418"
            )
        return self.amount

    @property
    def rho(self) -> Fraction:
        """The amount of a zCDP budget; a ParameterError for the other notion."""
        if self.notion != "zcdp":
            raise ParameterError("a pure budget has an epsilon and no rho; convert it with as_zcdp()", code="LW418")
        return self.amount

    def as_zcdp(self) -> Self:
        """Return the same budget in zCDP: a pure epsilon is worth rho = epsilon^2 / 2 (Bun and Steinke 2016).

        Examples
        --------
        >>> Budget.pure(1).as_zcdp()
        Budget.zcdp('0.5')
        """
        return self if self.notion == "zcdp" else type(self)("zcdp", self.amount**2 / 2)

    def split(self, shares: Sequence[Fraction | int]) -> tuple[Self, ...]:
        """Divide the budget in proportion to ``shares`` (each at least 0, not all 0); the parts sum to it exactly."""
        exact = [exact_number("a share of a budget", share) for share in shares]
        if any(share < 0 for share in exact) or sum(exact) == 0:
            raise ParameterError("the shares of a budget must be at least 0 and not all 0", code="LW418")
        total = sum(exact)
        return tuple(type(self)(self.notion, self.amount * share / total) for share in exact)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.notion, self.amount + self._amount_of(other))

    def __sub__(self, other: Self) -> Self:
        left = self.amount - self._amount_of(other)
        if left < 0:
            raise BudgetError(f"a budget of {self} cannot pay {other}; ask for less", code="LW418")
        return type(self)(self.notion, left)

    def __mul__(self, factor: Fraction | int) -> Self:
        return type(self)(self.notion, self.amount * exact_number("the factor of a budget", factor))

    def __truediv__(self, divisor: Fraction | int) -> Self:
        return type(self)(self.notion, self.amount / positive_number("the divisor of a budget", divisor))

    def __repr__(self) -> str:
        return f"Budget.{self.notion}({as_text(self.amount)!r})"

    def __str__(self) -> str:
        return f"{'epsilon' if self.notion == 'pure' else 'rho'} {as_text(self.amount)}"

    def _amount_of(self, other: Self) -> Fraction:
        if other.notion != self.notion:
            raise BudgetError(
                f"a {self.notion} budget and a {other.notion} budget cannot be added; use as_zcdp()", code="LW418"
            )
        return other.amount


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRequest:
    """What the caller asked for, kept for the certificate, and the budget that it grants.

    epsilon, delta, rho: the settings as the caller gave them, exact; ``delta`` is None where it was not given or 0.
    """

    budget: Budget
    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None


def read_request(
    *, epsilon: Number | None = None, delta: Number | None = None, rho: Number | None = None
) -> BudgetRequest:
    """Read the three budget settings and decide which notion pays.

    epsilon: from 10^-9 to 10^9. Alone it is pure differential privacy; delta: from 0 to below 1, only beside
    ``epsilon``. Above 0 the budget becomes the largest rho that implies (epsilon, delta), rounded down to a multiple of
    10^-12; 0 says the same as None.

    >>> read_request(epsilon=0.5).budget
    Budget.pure('0.5')
    >>> read_request(epsilon=1, delta=1e-9).budget
    Budget.zcdp('0.014973057673')
    """
    if (epsilon is None) == (rho is None):
        count = "neither" if epsilon is None else "both"
        raise ParameterError(
            f"exactly one of epsilon and rho must be given, got {count}; give the one you mean", code="LW310"
        )
    if rho is not None:
        if delta is not None:
            raise ParameterError(
                "delta goes with epsilon, not with rho; leave delta out, or give epsilon and delta", code="LW311"
            )
        exact_rho = _read_amount("rho", rho)
        return BudgetRequest(budget=Budget("zcdp", exact_rho), epsilon=None, delta=None, rho=exact_rho)

    exact_epsilon = _read_amount("epsilon", epsilon)
    exact_delta = read_delta(delta)
    if exact_delta == 0:
        return BudgetRequest(budget=Budget("pure", exact_epsilon), epsilon=exact_epsilon, delta=None, rho=None)
    granted = rho_for(exact_epsilon, exact_delta)
    if granted == 0:
        raise ParameterError(
            f"epsilon {epsilon} with delta {delta} is worth less than rho 1e-12, the smallest amount accounted for; "
            "give a larger epsilon",
            code="LW313",
        )
    return BudgetRequest(budget=Budget("zcdp", granted), epsilon=exact_epsilon, delta=exact_delta, rho=None)


def requested_budget(
    *, epsilon: Number | None = None, delta: Number | None = None, rho: Number | None = None
) -> Budget:
    """Return the budget that the three settings ask for; as ``read_request``, without the settings.

    >>> requested_budget(rho="1/8")
    Budget.zcdp('0.125')
    """
    return read_request(epsilon=epsilon, delta=delta, rho=rho).budget


def _read_amount(setting: str, value: object) -> Fraction:
    exact = positive_number(setting, value)
    if not _SMALLEST[setting] <= exact <= _LARGEST:
        smallest = as_text(_SMALLEST[setting])
        raise ParameterError(
            f"{setting} must lie between {smallest} and 10^9, got {value}; give a number such as 0.5", code="LW313"
        )
    return exact


def read_delta(delta: Number | None) -> Fraction:
    """Return a delta as it was given, 0 where none was."""
    exact = exact_number("delta", 0 if delta is None else delta)
    if not 0 <= exact < 1:
        raise ParameterError(
            f"delta must be at least 0 and below 1, got {delta}; give a small number such as 1e-9", code="LW311"
        )
    return exact
