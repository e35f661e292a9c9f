"""The answer to a question: its rows and limits, with methods to show, plot and export it.

The code that shows an answer is imported on first use, so that an answer itself needs no other library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hubbub.errors import ParameterError
from hubbub.model.estimates import Group, Guess, Hitter, Intake

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes

    from hubbub.analysis.sentences import Sentence
    from hubbub.model.domain import Domain


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """The result of a question: the hitters, and how small a count could have been found.

    Attributes
    ----------
    reports : int
        The number of valid reports behind the answer.
    detection_limit : float
        A value that this many people hold is found with a chance of about 95 %; one that fewer hold may go unseen. For
        texts, it is for a text of usual length. Infinite if there are too few people to find anything.
    hitters : tuple of Hitter
        Largest first; empty means "nothing stands out", which is an answer too.
    candidate_limit : float or None
        The same limit for a value that was named in advance; None if none was.
    long_limit : float or None
        The same limit for a long text; None if all values have the same length.
    limit_of : function of a value, optional
        The function that `limit_for` calls.
    intake : Intake or None
        After `find`: how many values were missing, cut or not in the domain. None for an answer from a tally alone,
        which cannot tell.
    whole_list : bool
        The domain is a list, and every value of it has a row.
    values_per_person : int
        The number of slots of each person, one of which she reported. With several, a count is of the people who have
        the value in any slot.
    not_shown : int
        Values that stand out and have no row, since there were more than `top`.
    foreign_candidates : int
        Candidates that are not in the domain, and were left out.
    known_names : int
        How many names of a public list were checked by name; 0 if none was.
    own_names : int
        How many other names were checked by name that stay with the survey, fixed before its first report.
    remembered_names : int
        How many more names were checked by name since they were found in earlier slices of time.
    post_processing : str
        What was done to the counts after they were estimated: "none", "clip" or "simplex".
    guesses : tuple of Guess
        The next best values below those that stand out, if they were asked for, the likeliest first. They are no part
        of what the level is about.
    guessed_from : float or None
        The chance of a guess is that so many people hold it, or more; None if no guesses were asked for.
    groups : tuple of Group
        Values that are counted together, if groups were asked for, the largest first.
    mode : str
        "no-false-positives", or "no-false-negatives": then the rows are all named values, and all that the search
        found, that may be held by the share.
    share : float
        The share of the people that the mode is about; 0 if none was given.
    forged : int
        How many of the reports are supposed to be forged. Intervals are then about the honest others, and include every
        interval that these may have; a row stands if its `stands_to` is not below.
    suppose : function of an answer and a number, optional
        The function that `if_forged` calls.

    Examples
    --------
    >>> from hubbub import find
    >>> find(["tea"] * 900 + ["coffee"] * 100, epsilon=4, seed=1)
    1,000 reports
    value  people   share      between     sure  fakes
    tea       926  92.58%  820 – 1,000  >99.99%    174
    Values held by fewer than about 151 people may go unseen; long ones by fewer than about 280.
    """

    reports: int
    detection_limit: float
    hitters: tuple[Hitter, ...]
    candidate_limit: float | None = None
    long_limit: float | None = None
    limit_of: Callable[[object], float] | None = field(default=None, compare=False)
    intake: Intake | None = None
    whole_list: bool = False
    values_per_person: int = 1
    not_shown: int = 0
    foreign_candidates: int = 0
    known_names: int = 0
    own_names: int = 0
    remembered_names: int = 0
    post_processing: str = "none"
    guesses: tuple[Guess, ...] = ()
    guessed_from: float | None = None
    groups: tuple[Group, ...] = ()
    mode: str = "no-false-positives"
    share: float = 0.0
    forged: int = 0
    suppose: Callable[[Answer, int], Answer] | None = field(default=None, compare=False)

    def limit_for(self, value: object) -> float:
        """How many people must hold this value for the search to find it with a chance of about 95 %.

        Infinite if there are too few people to find it at all. An answer that was read from a document has only the
        usual limit, for every value.
        """
        return self.detection_limit if self.limit_of is None else self.limit_of(value)

    def __repr__(self) -> str:
        from hubbub.analysis.tables import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        """The HTML that a notebook shows: a table with a bar for each interval."""
        from hubbub.analysis.tables import as_html

        return as_html(self)

    def sentences(self, example: str = "", domain: Domain | None = None) -> list[Sentence]:
        """What there is to say about the answer, as (kind, text) pairs: see `hubbub.analysis.sentences.Sentence`.

        Parameters
        ----------
        example : str
            A long value of the domain, to name among the limits.
        domain : Domain, optional
            Says more about values that were cut or are not in it.
        """
        from hubbub.analysis.sentences import sentences

        return sentences(self, example, domain)

    def to_document(self) -> dict[str, Any]:
        """The answer as plain data for JSON; docs/commands.md names its fields."""
        from hubbub.analysis.documents import to_document

        return to_document(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Answer:
        """The answer in a document of `to_document`; it does not know the limits of single values.

        Raises KeyError, TypeError or AttributeError if the document is something else.
        """
        from hubbub.analysis.documents import from_document

        return from_document(cls, document)

    def to_json(self) -> str:
        """The answer as the text of one JSON object, that of `to_document`."""
        return json.dumps(self.to_document(), ensure_ascii=False, allow_nan=False)

    def to_csv(self) -> str:
        """The rows as CSV text. A value that a spreadsheet would take for a formula is prefixed with '.

        What the rows leave out is a warning, as with the tables below.
        """
        from hubbub.analysis.tables import as_csv, warn_of_left_out

        warn_of_left_out(self, stacklevel=3)
        return as_csv(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame, with a column for each attribute of `Hitter`."""
        from hubbub.analysis.tables import to_pandas

        return to_pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars DataFrame, with a column for each attribute of `Hitter`."""
        from hubbub.analysis.tables import to_polars

        return to_polars(self)

    def to_arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table, with a column for each attribute of `Hitter`."""
        from hubbub.analysis.tables import to_arrow

        return to_arrow(self)

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw a bar for each value with its interval, and the detection limit as a line.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new matplotlib figure, which is not shown yet.
        **style
            Arguments of `Axes.barh`, such as `color`.

        Returns
        -------
        Axes
            The axes; `ax.figure.savefig("answer.png")` writes the figure to a file.
        """
        from hubbub.analysis.plots import plot

        return plot(self, ax, **style)

    def if_forged(self, forged: int) -> Answer:
        """The answer if so many of the reports are forged, whichever those are: with wider intervals.

        Neither guesses nor groups are in it. A ParameterError if there are no more reports than that, or if the
        mechanism certifies nothing (docs/threats.md). An answer that was read from a document cannot tell.

        Parameters
        ----------
        forged : int
            How many reports.
        """
        if self.forged:
            raise ParameterError(f"an answer must not suppose forged reports yet, got one that supposes {self.forged}")
        if self.suppose is not None:
            return self.suppose(self, forged)
        if forged:
            raise ParameterError(f"forged must be asked of a tally, got an answer from a document, forged={forged!r}")
        return self

    def post_processed(self, method: str) -> Answer:
        """The answer with more plausible counts and shares, which are no longer unbiased.

        Intervals do not change; they stay valid. The cost is negligible.

        Parameters
        ----------
        method : str
            "none" does not change the counts. "clip" raises counts below 0 to 0, and lowers counts above the number of
            people to that. "simplex" takes the nearest counts that are possible together: none below 0, and a sum of
            at most the number of people; for a whole list, exactly that.
        """
        from hubbub.analysis.post_processing import post_process

        return post_process(self, method)
