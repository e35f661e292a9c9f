// No document makes the built files reveal more than the epsilon that they write down: measured, for many documents.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Browser, MODULE, OF_MODULE, OF_SCRIPT, SCRIPT, attack, hostile, measure } from "../support/hostile.js";

const SLACK = 1e-6;

test("20,000 hostile surveys learn no more from the script than they state", async () => {
  const { served, answered, faults, total } = await attack(SCRIPT, hostile(OF_SCRIPT, 20_000, 1));
  assert.deepEqual(faults, []);
  assert.equal(served, 20_000);
  assert.ok(answered > 2_000, `${answered} answered`); // documents that change nothing of importance
  assert.ok(total > 7 && total <= 8 + SLACK, `one browser told ${total}`);
});

test("6,000 hostile surveys learn no more from the module than they state", async () => {
  const { answered, faults, total } = await attack(MODULE, hostile(OF_MODULE, 6_000, 2));
  assert.deepEqual(faults, []);
  assert.ok(answered > 100, `${answered} answered`);
  assert.ok(total > 7 && total <= 8 + SLACK, `one browser told ${total}`);
});

test("the measurement finds a script that checks too little", async () => {
  /** @type {[string, string | RegExp, string, RegExp][]} */
  const mutants = [
    ["any loss", "Math.expm1(", "9e9*Math.expm1(", /it reveals/],
    ["fractions, and digits as text", /(\w)===\(0\|\1\)&&/, "", /although its numbers are none/],
  ];
  for (const [name, part, other, fault] of mutants) {
    const mutant = SCRIPT.replace(part, other);
    assert.notEqual(mutant, SCRIPT, name);
    const { faults } = await attack(mutant, hostile(OF_SCRIPT, 500, 1));
    assert.ok(faults.some((each) => fault.test(each)), name);
  }
});

test("a good survey reveals exactly what it states", async () => {
  const values = ["a", "b", "aa", "ab", "ba", "er", "red", "green", "yes", "no", "0", "1", "2", "7", "1.2.3.4", "5.6.7.8"];
  for (const [source, surveys] of /** @type {[string, any[]][]} */ ([[SCRIPT, OF_SCRIPT], [MODULE, OF_MODULE]])) {
    const browser = new Browser(source);
    for (const survey of surveys) {
      const { loss, fault } = await measure(browser, JSON.stringify(survey), values);
      assert.equal(fault, undefined);
      assert.ok(Math.abs(loss - survey.epsilon) < SLACK, `${survey.name} ${survey.epsilon} ${loss}`);
    }
  }
});
