"""The answer to a question: its rows and limits, and how it is shown, plotted and handed on.

Everything that shows an answer is loaded when it is asked for: an answer itself needs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hubbub.model.estimates import Hitter, Intake

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """What a tally says: the hitters, and how small a count could have been seen.

    Attributes
    ----------
    reports : int
        Valid reports behind the answer.
    detection_limit : float
        A value that this many people hold is found with a chance of about 95 %; one that fewer hold may go unseen. For
        texts, one of a usual length. Infinite if there are too few people to find anything.
    hitters : tuple of Hitter
        Largest first; empty means "nothing stands out", which is an answer too.
    candidate_limit : float or None
        The same limit for a value that was named in advance; None where none was.
    long_limit : float or None
        The same limit for a long text; None where all values are alike.
    limit_of : function of a value, optional
        What `limit_for` calls.
    intake : Intake or None
        After `find`: how many values were missing, cut or not in the domain. None for an answer from a tally alone,
        which cannot tell.
    whole_list : bool
        The domain is a list, and every value of it has a row.
    values_per_person : int
        The slots of each person, one of which she reported. Where there are several, a count is of the people who have
        the value among theirs.
    post_processing : str
        What was done to the counts after they were estimated: "none", "clip" or "simplex".

    Examples
    --------
    >>> from hubbub import find
    >>> find(["tea"] * 900 + ["coffee"] * 100, epsilon=4, seed=1)
    1,000 reports
    value  people   share      between     sure  fakes
    tea       919  91.91%  814 – 1,000  >99.99%    419
    Values held by fewer than about 199 people may go unseen; long ones by fewer than about 907.
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
    post_processing: str = "none"

    def limit_for(self, value: object) -> float:
        """How many people must hold this value for the search to find it with a chance of about 95 %.

        Infinite if there are too few people to find it at all.
        """
        return self.detection_limit if self.limit_of is None else self.limit_of(value)

    def __repr__(self) -> str:
        from hubbub.analysis.tables import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: a table with a bar for each interval."""
        from hubbub.analysis.html_table import as_html

        return as_html(self)

    def to_json(self) -> str:
        """The answer as the text of one JSON object; docs/commands.md names its fields."""
        from hubbub.analysis.tables import as_json

        return as_json(self)

    def to_csv(self) -> str:
        """The rows as the text of a CSV. A value that a spreadsheet would take for a formula gets a ' before it."""
        from hubbub.analysis.tables import as_csv

        return as_csv(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a table of pandas, a column for each attribute of `Hitter`."""
        from hubbub.analysis.frames import to_pandas

        return to_pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a table of polars, a column for each attribute of `Hitter`."""
        from hubbub.analysis.frames import to_polars

        return to_polars(self)

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a table of Arrow, a column for each attribute of `Hitter`."""
        from hubbub.analysis.frames import to_arrow

        return to_arrow(self)

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw a bar for each value with its interval, and the detection limit as a line.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; without it, a new figure of matplotlib that is not shown anywhere yet.
        **style
            What `Axes.barh` takes, such as `color`.

        Returns
        -------
        Axes
            What was drawn on; `ax.figure.savefig("answer.png")` writes it to a file.
        """
        from hubbub.analysis.plots import plot

        return plot(self, ax, **style)

    def post_processed(self, method: str) -> Answer:
        """The answer with other counts and shares: more plausible ones, which are no longer unbiased.

        Intervals stay: they hold whatever is done to the counts. Costs nothing to speak of.

        Parameters
        ----------
        method : str
            "none" leaves the counts as they are. "clip" takes a count below 0 for 0, and one above everybody for
            everybody. "simplex" takes the nearest counts that a crowd can have: none below 0, and together not more
            people than there are; of a whole list, exactly as many.
        """
        from hubbub.analysis.post_processing import post_process

        return post_process(self, method)
