"""What is compared with what, and how: the typed content of a file of conf/analysis/."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from analysis.errors import near

Missing = Literal["refuse", "drop"]
Selection = Literal["test", "validation"]

TABLES = (
    *("main_results", "selected", "runtime", "claims", "replication", "learned_q", "informative_mass"),
    *("exact_match_by_length", "dispersion_by_length", "paired_by_length"),
)
"""Names of tables that no plan declares, so no family or pair can take them."""
UNPLANNED = "unplanned"
"""The name of the family of comparisons that no family declares."""


class Frozen(BaseModel):
    """A part of the configuration: no unknown keys, no changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _distinct(names: list[str]) -> list[str]:
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise ValueError(f"{double!r} is named twice")
    return names


Names = Annotated[list[str], Field(min_length=1), AfterValidator(_distinct)]
"""Names of which none may stand twice: a test named twice would count twice in m."""


class Family(Frozen):
    """Planned comparisons of each treatment with the control on each data set; Holm's m is their number.

    `control` is that of the plan where it is None. `table` names a table of means and raw paired p for this family.
    """

    datasets: Names
    treatments: Names
    control: str | None = None
    table: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9_]*$")

    @property
    def m(self) -> int:
        """The number of planned tests, with or without a result."""
        return len(self.datasets) * len(self.treatments)


class Pair(Frozen):
    """A direct comparison treatment - control, made on every data set that has records of either."""

    treatment: str
    control: str

    @property
    def name(self) -> str:
        """The name of its table."""
        return f"{self.treatment}_vs_{self.control}"


class Target(Frozen):
    """The q that `normalizer` is said to learn; within `margin` of it counts as having learned it."""

    normalizer: str
    value: float
    margin: float = Field(gt=0)


class Plan(Frozen):
    """One file of conf/analysis/.

    `order` gives the rows of the tables and is the list of known normalizers; normalizers that only the records name
    follow after it. `names` overrides display names. `confidence` holds for every interval, and 1 - confidence is the
    level of every test; `margin` is the difference in accuracy below which two normalizers count as equivalent.
    `missing` says what becomes of a comparison whose seeds are incomplete. `choices` names normalizers of which one is
    to be chosen (ratios of top-k), by their accuracy on the rows that `selection` says. `targets` are values of q that
    normalizers are said to learn.
    """

    control: str
    order: Names
    names: dict[str, str] = {}
    families: dict[str, Family] = {}
    pairs: list[Pair] = []
    confidence: float = Field(default=0.95, gt=0, lt=1)
    margin: float = Field(default=0.01, gt=0, lt=1)
    missing: Missing = "refuse"
    choices: dict[str, Annotated[list[str], Field(min_length=2), AfterValidator(_distinct)]] = {}
    selection: Selection = "test"
    targets: list[Target] = []

    @property
    def percent(self) -> str:
        """The confidence as tables say it: `95 %`."""
        return f"{100 * self.confidence:.12g} %"

    @property
    def level(self) -> str:
        """The level of every test as tables say it: `0.05`."""
        return f"{1 - self.confidence:.12g}"

    def control_of(self, family: Family) -> str:
        """The control that the treatments of `family` are compared with."""
        return family.control or self.control

    @model_validator(mode="after")
    def _known_normalizers(self) -> Self:
        for where, name in self._uses():
            if name not in self.order:
                known = ", ".join(self.order)
                raise ValueError(f"{where}: unknown normalizer {name!r}{near(name, self.order)} (order has {known})")
        against = [(f"families.{key}.treatments", f.treatments, self.control_of(f)) for key, f in self.families.items()]
        against += [(f"choices.{key}", candidates, self.control) for key, candidates in self.choices.items()]
        for where, treatments, control in against:
            if control in treatments:
                raise ValueError(f"{where}: {control!r} is the control, it cannot be compared with itself")
        for index, pair in enumerate(self.pairs):
            if pair.treatment == pair.control:
                raise ValueError(f"pairs.{index}: {pair.control!r} is compared with itself")
        return self

    def _uses(self) -> Iterator[tuple[str, str]]:
        """Every place that names a normalizer, with the name."""
        yield "control", self.control
        for key, family in self.families.items():
            if family.control is not None:
                yield f"families.{key}.control", family.control
            yield from ((f"families.{key}.treatments", name) for name in family.treatments)
        for index, pair in enumerate(self.pairs):
            yield f"pairs.{index}.treatment", pair.treatment
            yield f"pairs.{index}.control", pair.control
        for index, target in enumerate(self.targets):
            yield f"targets.{index}.normalizer", target.normalizer
        for key, names in self.choices.items():
            yield from ((f"choices.{key}", name) for name in names)

    @model_validator(mode="after")
    def _tables_have_names_of_their_own(self) -> Self:
        taken = {*TABLES, *(f"paired_vs_{name}" for name in self.order)}
        wanted = [(f"families.{key}.table", family.table) for key, family in self.families.items() if family.table]
        wanted += [(f"pairs.{index}", pair.name) for index, pair in enumerate(self.pairs)]
        for where, name in wanted:
            if name in taken:
                raise ValueError(f"{where}: there is another table {name!r}")
            taken.add(name)
        return self

    @model_validator(mode="after")
    def _families_have_names_of_their_own(self) -> Self:
        taken = {UNPLANNED: "comparisons that no family declares"}
        taken |= {pair.name: "a pair's own family" for pair in self.pairs}
        for name in self.families:
            if name in taken:
                raise ValueError(f"families.{name}: this is the name of {taken[name]}, take another")
        return self

    @model_validator(mode="after")
    def _selection_has_choices(self) -> Self:
        if self.selection == "validation" and not self.choices:
            raise ValueError("selection: 'validation' has nothing to choose from, because choices is empty")
        return self
