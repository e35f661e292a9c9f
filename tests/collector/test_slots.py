"""Several values of one person, from devices to the owner's answer: real HTTP, real reports."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.collector.service import running

from hubbub import Categories, create_survey
from hubbub.cli.main import app
from hubbub.client.slots import Slots
from hubbub.client.survey import encode_report, read_survey

pytestmark = pytest.mark.slow

NAMES = ["news", "mail", "maps", "chat"]


def test_devices_with_several_values_are_counted_as_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody reports one of three slots, many have nothing; the answer has the people, by HTTP and by command."""
    people, slots, rng = 3_000, 3, random.Random(1)
    monkeypatch.setattr("hubbub.client.slots.secrets.randbelow", rng.randrange)
    monkeypatch.setenv("no_proxy", "*")
    survey = create_survey("sites", Categories(NAMES), 4, expected_reports=people, public_seed=bytes(32))
    device = read_survey(survey.to_json())
    truth = dict.fromkeys(NAMES, 0)
    reports = []
    for _ in range(people):
        values = [name for place, name in enumerate(NAMES) if rng.random() < 0.4 / (place + 1)][:slots]
        for name in values:
            truth[name] += 1
        words = [rng.getrandbits(64) for _ in range(device.randomizer.random_words)]
        reports.append(encode_report(device, Slots(values, slots).draw(device.domain), words))
    with running(str(tmp_path / "store.db")) as service:
        service.store.add_survey(survey)
        path = f"/v1/surveys/{survey.survey_id.hex()}"
        for start in range(0, people, 500):
            body = bytes([1]) + survey.survey_id + b"".join(reports[start : start + 500])
            assert service.ask("POST", f"{path}/reports", body).json["accepted"] == len(reports[start : start + 500])
        asked = service.ask("GET", f"{path}/hitters?values_per_person={slots}", owner=True).json
        named = {"candidates": NAMES, "all_candidates": True, "values_per_person": slots}
        for document in (asked, service.ask("POST", f"{path}/hitters", named, owner=True).json):
            assert (document["reports"], document["values_per_person"]) == (people, slots)
            rows = {row["value"]: row for row in document["hitters"]}
            assert set(rows) == set(NAMES)
            for name, held in truth.items():
                assert rows[name]["low"] <= held <= rows[name]["high"]
                assert math.isclose(rows[name]["share"], rows[name]["count"] / people)
        assert service.ask("GET", f"{path}/hitters?values_per_person=0", owner=True).kind == "invalid-request"
        command = ["hitters", "--survey", f"{service.url}{path}", "--values-per-person", "3", "--token", service.token]
        shown = CliRunner().invoke(app, command)
        assert shown.exit_code == 0, shown.output
        assert "Everybody reported one of 3 slots" in shown.stdout
        assert "\n  (other)" not in shown.stdout
