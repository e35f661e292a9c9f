"""Made-up bytes for both ends of a relay, over HTTP: no reply of 5xx, no growth of memory.

`python -m tests.relay.fuzz --inputs 50000` is part of `make fuzz`. Inputs are whole requests and releases with
something changed (bits, lengths, fields, order, another release's header), and bytes without any order.
"""

from __future__ import annotations

import argparse
import http.client
import random
import secrets
import struct
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from tests.collector.hostile import target
from tests.collector.test_gateway import Sealed
from tests.relay.running import relay_process

from hubbub import Integers, create_survey
from hubbub.sealing.hpke import PrivateKey
from hubbub.sealing.release import Part, pack_part
from hubbub.store.sealing_keys import new_key
from hubbub.store.store import Store
from hubbub.store.tokens import replace_token

CROWD = 3
_ALLOWED = {200, 202, 400, 413, 422}


class Fuzzed(NamedTuple):
    """How many replies of each status there were, and by how many bytes the memory of each process grew."""

    relay: dict[int, int]
    gateway: dict[int, int]
    grown: tuple[int, int]


def changed(rng: random.Random, good: bytes) -> bytes:
    """Good bytes with something wrong, or none at all."""
    data = bytearray(good)
    kind = rng.randrange(8)
    if kind == 0:
        return rng.randbytes(rng.choice([0, 1, 28, 29, 30, 213, 214, 215, len(good), 2 * len(good)]))
    if kind == 1:
        del data[rng.randrange(len(data)) :]
    elif kind == 2:
        data += rng.randbytes(rng.choice([1, 213, 214, 215, 1000]))
    elif kind == 3:
        start = rng.choice([1, 17, 21, 25, 33])
        data[start : start + 4] = struct.pack("<I", rng.choice([0, 1, 2, 3, 4, 2**16, 2**31, 2**32 - 1]))
    elif kind == 4:
        start, end = sorted(rng.choices(range(len(data)), k=2))
        data[start:end] = rng.randbytes(end - start)
    elif kind < 7:
        for _ in range(rng.choice([1, 1, 2, 9])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def memory(pid: int) -> int:
    """The resident memory of a process, in bytes."""
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


def send(url: str, path: str, bodies: list[bytes], token: str = "") -> dict[int, int]:
    """Send bodies on connections of some hundred requests; return how many replies had each status."""
    statuses: dict[int, int] = {}
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    for start in range(0, len(bodies), 500):
        with closing(http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)) as connection:
            for body in bodies[start : start + 500]:
                connection.request("POST", path, body, headers)
                reply = connection.getresponse()
                text = reply.read()
                assert reply.status in _ALLOWED, (reply.status, text, body.hex()[:2000])
                assert reply.status < 300 or b"urn:hubbub:problem:" in text
                statuses[reply.status] = statuses.get(reply.status, 0) + 1
    return statuses


def fuzz(folder: Path, inputs: int, seed: str) -> Fuzzed:
    """Send so many made-up bodies to each end, a tenth of them before memory is looked at for the first time."""
    rng = random.Random(seed)
    (folder / "relay").mkdir()
    with target(folder) as collector:
        with Store(collector.database) as store:
            private, facts = new_key(CROWD)
            survey = create_survey(
                "made-up bytes", Integers(8), 4, closes=datetime.now(UTC) + timedelta(days=30), **facts
            )
            sealed = Sealed(store.add_survey(survey, private=private), PrivateKey(private).public)
            token = replace_token(store.engine, "relay")
        requests = sealed.requests(20)

        def releases(count: int) -> list[bytes]:
            parts = [Part(rng.randbytes(16), 0, 1, CROWD, rng.sample(requests, CROWD)) for _ in range(count)]
            return [changed(rng, pack_part(part)) for part in parts]

        def reports(count: int) -> list[bytes]:
            return [changed(rng, rng.choice(requests)) for _ in range(count)]

        with relay_process(folder / "relay", "http://127.0.0.1:9", "no-token", "--most", "100000000") as relay:
            warm = inputs // 10
            send(relay.url, "/v1/sealed", reports(warm))
            send(collector.url, "/v1/releases", releases(warm), token)
            before = memory(relay.process.pid), collector.memory()
            at_relay = send(relay.url, "/v1/sealed", reports(inputs - warm))
            at_gateway = send(collector.url, "/v1/releases", releases(inputs - warm), token)
            grown = memory(relay.process.pid) - before[0], collector.memory() - before[1]
            assert "failed (" not in relay.log
        with Store(collector.database) as store:
            assert store.tally(sealed.stored.survey_id).count <= len(requests), "a changed request was counted"
    return Fuzzed(at_relay, at_gateway, grown)


def main() -> None:
    """The long run: `make fuzz`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=50_000, help="bodies for each end")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="repeats the bodies; printed")
    arguments = parser.parse_args()
    print(f"both ends of a relay, seed {arguments.seed}", flush=True)  # noqa: T201
    with tempfile.TemporaryDirectory(prefix="hubbub-relay-fuzz-") as folder:
        found = fuzz(Path(folder), arguments.inputs, arguments.seed)
    print(found)  # noqa: T201
    assert max(found.grown) < 64 << 20, "memory grows"


if __name__ == "__main__":
    main()
