// No document makes the built files reveal more than the epsilon that they write down: measured, for many documents.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Browser, MODULE, ODD, OF_MODULE, OF_RELAY, OF_SCRIPT, RELAY, SCRIPT, attack, hostile, measure, stay } from "../support/hostile.js";

const SLACK = 1e-6;

test("20,000 hostile surveys learn no more from the script than they state", async () => {
  const { served, answered, faults, total } = await attack(SCRIPT, hostile(OF_SCRIPT, 20_000, 1));
  assert.deepEqual(faults, []);
  assert.equal(served, 20_000);
  assert.ok(answered > 2_000, `${answered} answered`); // documents that change nothing of importance
  assert.ok(total > 7 && total <= 8 + SLACK, `one browser told ${total}`);
});

test("7,000 hostile surveys learn no more through a relay than they state", async () => {
  const { answered, faults, total } = await attack(RELAY, hostile(OF_RELAY, 7_000, 3));
  assert.deepEqual(faults, []);
  assert.ok(answered > 500, `${answered} answered`);
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
  for (const [source, surveys] of /** @type {[string, any[]][]} */ ([[SCRIPT, OF_SCRIPT], [RELAY, OF_RELAY], [MODULE, OF_MODULE]])) {
    const browser = new Browser(source);
    for (const survey of surveys) {
      const { loss, fault } = await measure(browser, JSON.stringify(survey), values);
      assert.equal(fault, undefined);
      assert.ok(Math.abs(loss - survey.epsilon) < SLACK, `${survey.name} ${survey.epsilon} ${loss}`);
    }
  }
});

const REPEATING = OF_SCRIPT[OF_SCRIPT.length - 1];
const SOURCES = /** @type {[string, any][]} */ ([[SCRIPT, REPEATING], [RELAY, OF_RELAY[OF_RELAY.length - 1]], [MODULE, REPEATING]]); // prettier-ignore
/** @param {any} value */
const isDays = (value) => Number.isInteger(value) && !Object.is(value, -0) && value >= 1 && value <= 366;

test("no document makes a browser that stays for a year answer more often than its periods and its budget allow", async () => {
  // prettier-ignore
  const odd = [...ODD, ["28"], "28", " 28", "28.0", "2.8e1", 28.5, 1 / 28, -28, 367, 1e9, 2 ** 31, 2 ** 32 + 28, -(2 ** 32) + 28, 1e-9];
  for (const [source, survey] of SOURCES) {
    for (const every of [undefined, ...odd]) {
      const { draws, sent, booked } = await stay(source, JSON.stringify({ ...survey, every }), [0, 1, 2, 26, 27, 30]);
      if (every === undefined) assert.deepEqual([draws, sent, booked], [1, 1, 2]);
      else if (!isDays(every)) assert.deepEqual([draws, sent, booked], [0, 0, 0], JSON.stringify(every));
      else assert.ok(draws === sent && booked === 2 * draws && booked <= 8 && draws <= Math.ceil(32 / Number(every)) + 1, `${every} ${draws}`);
    }
    for (const opens of [undefined, ...ODD, "2029-12-31T00:00:01Z", "2030-01-02T00:00:00Z", "9999-12-31T00:00:00Z"]) {
      const { draws, sent, booked } = await stay(source, JSON.stringify({ ...survey, opens }), [0, 1, 27, 28, 29]);
      assert.ok(draws === sent && booked === 2 * draws && draws <= 2, `${JSON.stringify(opens)} ${draws}`);
    }
  }
});

test("the budget holds whatever a survey that repeats asks, and periods are kept", async () => {
  /** @type {[number, string, number?][]} */
  const cases = [[1, "2"], [7, "0.5", 53], [7, "2"], [28, "2", 14], [366, "2", 2]]; // prettier-ignore
  for (const [every, epsilon, answers] of cases) {
    const found = await stay(SCRIPT, JSON.stringify({ ...REPEATING, every, epsilon, parameters: small(+epsilon) }), Array(368).keys());
    assert.ok(found.month <= 8 && found.year <= 28, `${every} ${JSON.stringify(found)}`);
    assert.ok(found.draws === found.sent && found.booked === found.draws * +epsilon, `${every} ${JSON.stringify(found)}`);
    if (answers) assert.equal(found.draws, answers, `every ${every}, epsilon ${epsilon}`);
  }
});

/** Parameters of an epsilon. @param {number} epsilon */
const small = (epsilon) => (epsilon < 2 ? { ...REPEATING.parameters, keep_threshold: "1" } : REPEATING.parameters);
