// The files of tests/vectors: the reports that every client must make byte for byte, and what it must refuse.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { kinds } from "../src/domains.js";
import { readSurvey } from "../src/index.js";
import { itemOf, load, randomOf, toHex, valueOf } from "../support/vectors.js";

for (const file of ["tree", "subset", "jl", "bucket"]) {
  test(`reports of ${file}`, () => {
    let cases = 0;
    for (const entry of load(file).surveys) {
      const encode = readSurvey(entry.survey);
      const domain = JSON.parse(entry.survey).domain;
      assert.equal(createHash("sha256").update(entry.survey).digest("hex"), entry.survey_id);
      for (const { value, item, random_words: words, report } of entry.cases) {
        const name = `${entry.name} ${JSON.stringify(value)}`;
        assert.equal(itemOf(kinds[domain.kind](domain), valueOf(value)), item, name);
        assert.equal(toHex(encode(valueOf(value), randomOf(words))), report, name);
        cases++;
      }
    }
    assert.ok(cases > 100);
  });
}

test("items of all domains", () => {
  const { domains } = load("domains");
  assert.ok(domains.length > 10);
  for (const { domain, cases } of domains) {
    for (const { value, item } of cases) {
      assert.equal(itemOf(kinds[domain.kind](domain), valueOf(value)), item, `${domain.kind} ${JSON.stringify(value)}`);
    }
  }
});

test("bad surveys are refused", () => {
  const { surveys } = load("bad_surveys");
  assert.ok(surveys.length > 250);
  for (const { name, survey, max_epsilon, reason } of surveys) {
    if (reason === "max_epsilon") {
      assert.ok(+JSON.parse(survey).epsilon > +max_epsilon); // delivery.js refuses it; a test of its own
    } else {
      assert.throws(() => readSurvey(survey), reason === "privacy" ? /must execute no more/ : Error, name);
    }
  }
});

test("a batch of one report", () => {
  const { survey, good } = load("batches");
  const { batch } = good.find((/** @type {{ reports: number }} */ each) => each.reports === 1);
  const id = createHash("sha256").update(survey).digest("hex");
  const random = new Uint8Array(32); // the third word is 0: the truth
  random.set(Buffer.from(batch, "hex").subarray(33, 49));
  assert.equal(`01${id}${toHex(readSurvey(survey)(5, random))}`, batch);
});
