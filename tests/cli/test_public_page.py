"""`hubbub survey page` and `survey registry` against a real collector; entries keep the rules of the registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from tests.collector.service import running

from hubbub import Categories, Hostnames, Integers, create_survey
from hubbub.analysis.registry import as_yaml, registry_entry
from hubbub.cli.main import app

FACTS = {
    "title": "T",
    "description": "",
    "curator": "C",
    "authors": ["A"],
    "region": "Global",
    "source": "https://x.example",
}
BASIC = "name data_curators description intended_use data_product_type data_product_region publication_date"
"""What the registry requires of each entry."""
FIELDS = {
    "basic": f"{BASIC} data_product_sector",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details privacy_parameters privacy_parameters_details",
    "deployment_model": "model_name model_name_details actors release_type release_type_details data_source_type "
    "data_source_type_details access_type access_type_details",
    "accounting": "post_processing composition",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms justification",
    "administrative": "sources notes registry_authors",
}
"""What the registry allows, and nothing else."""
CHOICES = {
    "data_product_type": "Summary statistics|Machine learning model|Dataset|Synthetic data|Interactive API|SQL queries",
    "data_product_sector": "Technology|Healthcare|Education|Government|Energy|Finance",
    "variant_name": "Pure DP|Approximate DP|Zero-concentrated DP|Renyi DP|Custom",
    "model_name": "Local|Central|Shuffle|Federated|Varies",
    "release_type": "One release|Many releases",
    "data_source_type": "Static|Dynamic",
    "access_type": "Interactive|Non-interactive",
}


def breaks(entry: dict[str, Any]) -> list[str]:
    """The rules of the registry's schema that an entry breaks; empty if it is valid."""
    found = [] if set(entry) == {"url_slug", "status", "tier", "deployment"} else ["top"]
    found += [] if entry["status"] == "Draft" and entry["tier"] in (1, 2, 3) else ["status"]
    parts = entry["deployment"]
    found += [name for name in parts if name not in FIELDS]
    found += [name for name in BASIC.split() if name not in parts.get("basic", {})]
    for part, fields in parts.items():
        for name, value in fields.items():
            if name not in FIELDS.get(part, "").split():
                found.append(f"{part}.{name}")
            if name in CHOICES and value not in CHOICES[name].split("|"):
                found.append(f"{name}={value}")
            if name == "privacy_parameters":
                good = set(value) <= {"epsilon", "delta", "rho"} and all(type(each) is float for each in value.values())
            elif name in ("data_curators", "registry_authors"):
                good = bool(value) and all(isinstance(each, str) for each in value)
            else:
                good = isinstance(value, str)
            found += [] if good else [name]
    date.fromisoformat(parts["basic"]["publication_date"])
    found += [] if parts.get("administrative", {}).get("registry_authors") else ["registry_authors"]
    return found


@pytest.mark.parametrize(
    "survey",
    [
        create_survey("referrers", Hostnames(), 1),
        create_survey('list: #1 "x"', Categories(["a", "b"]), "0.5", opens="2026-11-16T00:00:00Z", every=28),
        create_survey("approximate", Integers(8), 1, "1e-6", "glps"),
    ],
    ids=lambda survey: survey.name,
)
def test_entries_keep_the_rules(survey: Any) -> None:
    """Surveys of all sorts make valid entries, and YAML has them as they are; mutants are noticed."""
    entry = registry_entry(survey, **FACTS, published=date(2026, 11, 18))
    assert breaks(entry) == []
    assert yaml.safe_load(as_yaml(entry)) == entry
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == float(survey.epsilon)
    assert entry["deployment"]["dp_variant"]["variant_name"] == ("Approximate DP" if survey.delta else "Pure DP")
    entry["deployment"]["basic"]["region"] = ""
    entry["deployment"]["deployment_model"]["model_name"] = "local"
    del entry["deployment"]["basic"]["description"]
    assert breaks(entry) == ["description", "basic.region", "model_name=local"]


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a survey at a running collector."""
    with running(str(tmp_path / "a.db")) as service:
        monkeypatch.setenv("HUBBUB_TOKEN", service.token)
        monkeypatch.setenv("no_proxy", "*")
        stored = service.store.add_survey(create_survey("referrers", Hostnames(), 1))
        yield f"{service.url}/v1/surveys/{stored.survey_id.hex()}"


@pytest.mark.slow
def test_the_commands(survey: str) -> None:
    """What is given changes, what is left out stays; the registry has the owner's words."""

    def run(*words: str) -> str:
        result = CliRunner().invoke(app, ["survey", *words, "--survey", survey])
        assert result.exit_code == 0, result.stderr
        return result.stdout

    assert "not shown" in run("page")
    run("page", "--shown", "yes", "--hide", "a.example", "--text", "title=Woher?", "--lang", "de")
    made = json.loads(run("page", "--webhook", "https://hooks.example.org/x", "--text", "description=Warum.", "--json"))
    assert (made["shown"], made["hidden"], made["lang"]) == (True, ["a.example"], "de")
    assert made["texts"] == {"title": "Woher?", "description": "Warum."}
    assert len(made["secret"]) == 43
    cleared = json.loads(run("page", "--webhook", "none", "--hide-none", "--shown", "no", "--text", "title=", "--json"))
    assert (cleared["webhook"], cleared["hidden"], cleared["shown"], list(cleared["texts"])) == (
        None,
        [],
        False,
        ["description"],
    )
    entry = yaml.safe_load(run("registry", "--curator", "Example", "--author", "Ada", "--author", "Bo"))
    assert breaks(entry) == []
    assert entry["deployment"]["basic"]["description"] == "Warum."
    for wrong in (["page", "--webhook", "http://x.example"], ["page", "--text", "x=y"], ["page", "--text", "x"]):
        assert CliRunner().invoke(app, ["survey", *wrong, "--survey", survey]).exit_code == 2
    bad = ["registry", "--curator", "x", "--author", "y", "--published", "yesterday"]
    assert CliRunner().invoke(app, ["survey", *bad, "--survey", survey]).exit_code == 2
