"""An entry for the registry of deployments of differential privacy (OpenDP, NIST), made from a survey.

The schema is `schemas/deployments-schema.yaml` of https://github.com/opendp/deployments-registry-data, as it was on
2026-07-15. What only the owner knows is an argument; what the survey fixes is filled in. Her entry is a draft: read it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from hubbub.analysis.public_words import facts_of
from hubbub.model.repeating import days_words
from hubbub.model.survey import Survey


def registry_entry(
    survey: Survey,
    *,
    title: str,
    description: str,
    curator: str,
    authors: Sequence[str],
    region: str,
    published: date,
    source: str,
) -> dict[str, Any]:
    """Return an entry of the highest tier.

    Parameters
    ----------
    survey : Survey
        The survey.
    title, description : str
        What it is called, and what is asked and what for.
    curator : str
        Who publishes the answer.
    authors : sequence of str
        Who wrote the entry.
    region : str
        What region the answer is about.
    published : date
        When the first answer was published.
    source : str
        The address of the public page.
    """
    pure, every = not survey.delta, survey.every
    said = description or f"Which values of this kind many people hold: {survey.domain.described}."
    parameters: dict[str, Any] = {"epsilon": float(survey.epsilon)}
    if not pure:
        parameters["delta"] = float(survey.delta)
    period = "once" if every is None else f"once every {days_words(every)}"
    year = facts_of(survey)["year"]
    return {
        "url_slug": _slug(f"{title} {curator} {published.year}"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": title,
                "data_curators": [curator],
                "intended_use": said,
                "data_product_type": "Summary statistics",
                "data_product_region": region,
                "description": said,
                "publication_date": published.isoformat(),
                "data_product_sector": "Technology",
            },
            "dp_variant": {
                "variant_name": "Pure DP" if pure else "Approximate DP",
                "data_domain": f"One value of each browser that takes part, of this kind: {survey.domain.described}.",
                "unprotected_quantities": "The number of reports, and that a browser sent one. The text of the survey.",
            },
            "privacy_loss": {
                "privacy_unit": "Browser, in each period" if every else "Browser",
                "privacy_unit_details": f"Each browser answers {period}. Neighbours differ in the value of one answer "
                "(replacement).",
                "privacy_parameters": parameters,
                "privacy_parameters_details": "An upper bound of what runs, computed from the integer thresholds of "
                "the mechanism. The browser recomputes it before it answers.",
            },
            "deployment_model": {
                "model_name": "Local",
                "model_name_details": "Each browser randomises its value before anything leaves it.",
                "actors": "Visitors' browsers; the collector, which adds reports to sums and erases them; everybody, "
                "who reads what is computed from the sums. Nobody is trusted with values.",
                "release_type": "Many releases",
                "release_type_details": "When a slice of time (a week or a day) has ended.",
                "data_source_type": "Dynamic",
                "data_source_type_details": f"Each browser answers {period}, with fresh noise.",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "Estimates from the sums. Values that do not stand out from the noise are left out, "
                "hosts known from spam and values that the curator hides are withheld.",
                "composition": f"Sequential. {year}",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "None that reads data of people: the parameters are derived "
                "from the domain, epsilon and the number of people that is expected.",
                "mechanisms": f"The mechanism {survey.mechanism} of hubbub, with integer thresholds, no floating point "
                "on the device, and randomness of the operating system.",
                "justification": "docs/mechanisms.md and docs/privacy.md of hubbub.",
            },
            "administrative": {"sources": source, "registry_authors": list(authors)},
        },
    }


def as_yaml(entry: Mapping[str, Any], indent: int = 0) -> str:
    """Return an entry as YAML, with each text in double quotes."""
    lines = []
    for name, value in entry.items():
        start = "  " * indent + f"{name}:"
        if isinstance(value, Mapping):
            lines.append(f"{start}\n{as_yaml(value, indent + 1)}")
        elif isinstance(value, list):
            lines.append("\n".join([start, *(f"{'  ' * indent}  - {_quoted(each)}" for each in value)]))
        else:
            lines.append(f"{start} {_quoted(value)}")
    return "\n".join(lines)


def _quoted(value: object) -> str:
    """Return a text or a number as YAML has it: texts of JSON are texts of YAML, but 1e-06 would be a text, too."""
    return f"{Decimal(repr(value)):f}" if isinstance(value, float) else json.dumps(value, ensure_ascii=True)


def _slug(text: str) -> str:
    """Return a text as addresses have it."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:100] or "survey"
