"""The worked example of docs/wire-format.md by the library."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
from tests.docs.wire_from_page import ID, ITEMS, LIE, SEED, SPREAD, SUBSET, TREE, little

from hubbub import Bytes, Categories, Integers, ReplayedRandomWords, create_survey, mechanism_for
from hubbub.numeric.arrangements import places_of
from hubbub.numeric.hashing import Purpose, derive_key, hash_uint64
from hubbub.wire.report_batch import encode_batch


def tree_from_the_library() -> dict[str, str]:
    """The lines about tree."""
    survey = create_survey("tree", Integers(40), 3, public_seed=SEED)
    tree = mechanism_for(replace(survey, parameters=TREE))
    items = survey.domain.encode(list(ITEMS))
    names = [f"{item:x}" for item in ITEMS]
    paths = {}
    for number, places, words in tree.code.classes(items):
        digits = "".join(f"{word:064b}" for word in words[0].tolist())
        paths[names[places[0]]] = digits[: tree.shape.classes[number].bits]
    buckets = dict(zip(names, tree.code.buckets(items).tolist(), strict=True))
    told, other = (tree.randomize(items[2:], np.array([[*ID, word, SPREAD[1]]], np.uint64)) for word in (0, LIE))
    cells = np.zeros(tree.cells_shape, np.int64)
    tree.accumulate(cells, told)
    return {
        **{f"tree path of {name}": paths[name] for name in names},
        **{f"tree buckets of {name}": " ".join(f"{each:04x}" for each in buckets[name]) for name in names},
        "tree row of the id": str(np.flatnonzero(cells[4 << 16 :])[0]),
        "tree report, third word 0": told.tobytes().hex(),
        "tree report, third word 2^64-1, fourth 0x9e3779b97f4a7c15": other.tobytes().hex(),
        "tree cells": " ".join(f"{place}:{cells[place]}" for place in np.flatnonzero(cells)),
    }


def glps_from_the_library() -> dict[str, str]:
    """The lines about glps."""
    options = {"layout": "staged", "sparsity": 1}
    survey = create_survey("glps", Integers(8), 1, mechanism="glps", options=options, public_seed=SEED)
    glps = mechanism_for(survey)
    five = survey.domain.encode([5])
    cells, entries = glps.operator.columns(five)
    return {
        "glps slots and cells": f"{glps.layout.slots} {glps.layout.cells}",
        "glps bucket rows of block 0": " ".join(f"{row:02x}" for row in glps.operator.bucket_rows[:2, 0].tolist()),
        "sha256 of all glps sign rows": hashlib.sha256(
            glps.operator.sign_rows[:, 0].astype(np.uint8).tobytes()
        ).hexdigest(),
        "glps entries of slots 0 to 3": " ".join(f"{cells[0, j]}:{entries[0, j]}" for j in range(4)),
        "glps cell of the id": str(glps.channel.rows_of(np.array([ID], np.uint64))[0]),
        "glps report, third word 0": glps.randomize(five, np.array([[*ID, 0]], np.uint64)).tobytes().hex(),
    }


def subset_from_the_library() -> dict[str, str]:
    """The lines about subset."""
    names = Categories(["a", "b", "c", "d", "e", "f"], other=False)
    survey = create_survey("subset", names, "0.5", mechanism="subset", public_seed=SEED)
    assert survey.parameters == SUBSET
    subset = mechanism_for(survey)
    last = survey.domain.encode(["f"])
    seed = hash_uint64(derive_key(SEED, Purpose.SUBSET_PLACES), np.array([ID], np.uint64))
    places = np.empty(6, np.int64)
    places_of(np.repeat(seed, 6), np.arange(6, dtype=np.uint64), 6, places)
    told, other = (subset.randomize(last, np.array([[*ID, word, SPREAD[1]]], np.uint64)) for word in (0, LIE))
    cells = np.zeros(subset.cells_shape, np.int64)
    subset.accumulate(cells, told)
    return {
        "subset places of all values": " ".join(map(str, places)),
        "subset window, third word 0": str(told["start"][0]),
        "subset window, third word 2^64-1": str(other["start"][0]),
        "subset report, third word 0": told.tobytes().hex(),
        "subset report, third word 2^64-1": other.tobytes().hex(),
        "subset values that the former matches": " ".join(map(str, np.flatnonzero(cells))),
    }


def first_character(mechanism) -> str:
    """The r of row 0, read from the signs of the powers of two."""
    powers = np.array([[1 << place] for place in range(16)], np.uint64)
    return str(sum(int(bit) << place for place, bit in enumerate(mechanism.sign_bits(powers)[:, 0])))


def from_the_library() -> dict[str, str]:
    """The worked example from the library."""
    survey = create_survey("referrers", Integers(16), 1, mechanism="jl", public_seed=SEED)
    jl = mechanism_for(survey)
    five = survey.domain.encode([5])
    told, lied = (jl.randomize(five, np.array([[*ID, word]], np.uint64)) for word in (0, LIE))
    coin = hash_uint64(derive_key(SEED, Purpose.REPORT_ROW), np.array([ID], np.uint64))
    signs = {"mechanism": "jl", "options": {"projection": "dense"}, "public_seed": SEED}
    dense = mechanism_for(create_survey("dense", Integers(8), 1, **signs))
    fewer = {"mechanism": "jl", "options": {"calibration": "tight"}, "expected_reports": 100, "public_seed": SEED}
    bucket = mechanism_for(create_survey("bucket", Integers(8), 1, mechanism="bucket", public_seed=SEED))
    noisy = mechanism_for(create_survey("laplace", Integers(1), 2, mechanism="naive-laplace", public_seed=SEED))
    spread = ReplayedRandomWords(np.array(SPREAD, np.uint64)).draw(1, noisy.random_words_per_report)
    laplace = noisy.randomize(np.array([[1]], np.uint64), spread)
    keys = {purpose: derive_key(SEED, purpose) for purpose in range(1, 14)}
    return {
        "survey": survey.to_json().decode(),
        "survey_id": survey.survey_id.hex(),
        **{f"key of purpose {purpose}": little(key.high << 32 | key.low) for purpose, key in keys.items()},
        "item of 5": five.astype("<u8").tobytes().hex(),
        "item of U+0065 U+0301, bytes:8": Bytes(8).encode(["e\u0301"]).astype("<u8").tobytes().hex(),
        "id": told["id"].tobytes().hex(),
        "hash of the id": f"{int(coin[0]):016x}",
        "jl row of the id": str(jl.channel.rows_of(np.array([ID], np.uint64))[0]),
        "jl sign bit": str(told["bit"][0]),
        "jl report, third word 0": told.tobytes().hex(),
        "jl report, third word 2^64-1": lied.tobytes().hex(),
        "batch of the latter": encode_batch(survey.survey_id, lied).hex(),
        "dense sign bit of row 70": str(dense.sign_bits_at(np.array([[5]], np.uint64), np.array([70]))[0]),
        "first of fewer hadamard rows": first_character(mechanism_for(create_survey("few", Integers(16), 1, **fewer))),
        "bucket trial 0": " ".join(f"{row:02x}" for row in bucket.matrix[:12, 0].tolist()),
        "sha256 of all bucket rows": hashlib.sha256(bucket.matrix[:, 0].astype(np.uint8).tobytes()).hexdigest(),
        "bucket shifts of trial 0": "".join(map(str, bucket.shifts[:12])),
        "bucket row of the id": str(bucket.channel.rows_of(np.array([ID], np.uint64))[0]),
        "bucket report, third word 0": bucket.randomize(five, np.array([[*ID, 0]], np.uint64)).tobytes().hex(),
        "laplace digit thresholds": " ".join(map(str, noisy.channel.noise.digit_thresholds)),
        "laplace responses": " ".join(map(str, laplace["responses"][0])),
        "laplace report": laplace.tobytes().hex(),
        **tree_from_the_library(),
        **subset_from_the_library(),
        **glps_from_the_library(),
    }
