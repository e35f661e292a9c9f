// No list of questions makes the built script draw from a list that breaks a rule, or answer twice in a period.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { attack } from "../support/hostile-sites.js";

test("1,000 hostile lists of questions: refused before anything is drawn, or answered once", async () => {
  const { faults, listed, answered, lasting } = await attack(1_000, 1);
  assert.deepEqual(faults, []);
  assert.ok(listed > 250 && listed < 750 && answered > 150, `${listed} ${answered}`);
  assert.equal(lasting, 1);
});

test("the attack finds a script that checks too little", async () => {
  const built = readFileSync(new URL("../dist/hubbub-more.js", import.meta.url), "utf8");
  /** @type {[string | RegExp, string][]} */
  const mutants = [[/\w+\.length<=20/, "1"], [/\[\\da-f\]\{64\}/, "[^]*"], [/void 0===\w+/, "1"], [/1===\w+/, "1"]]; // prettier-ignore
  for (const [part, other] of mutants) {
    const mutant = built.replace(part, other);
    assert.notEqual(mutant, built, `${part}`);
    const { faults } = await attack(500, 1, mutant);
    assert.ok(faults.length, `${part}`);
  }
});
