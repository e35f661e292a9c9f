// The built files in the repository match the sources, and the types are right. Parts need node_modules.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = fileURLToPath(new URL("..", import.meta.url));
const served = `${here}../../src/hubbub/collector/static/`;
const tools = existsSync(`${here}node_modules/esbuild`) ? false : "no node_modules: run npm install in clients/js";

/** @param {string[]} command */
const run = (...command) => execFileSync(process.execPath, command, { cwd: here, stdio: "pipe", encoding: "utf8" });

test("the scripts in the wheel are the built ones", () => {
  for (const name of readdirSync(served)) {
    assert.deepEqual(readFileSync(served + name), readFileSync(`${here}dist/${name}`), name);
  }
});

test("the self-starting script and its second part are small", () => {
  for (const [name, most] of /** @type {[string, number][]} */ ([["hubbub.js", 3690], ["hubbub-relay.js", 4500], ["hubbub-more.js", 1500]])) {
    const size = gzipSync(readFileSync(`${here}dist/${name}`), { level: 9 }).length;
    assert.ok(size <= most, `${name} has ${size} bytes`);
  }
});

test("a build gives the same bytes", { skip: tools }, () => {
  const folder = mkdtempSync(`${tmpdir()}/hubbub-`);
  try {
    run("build.mjs", folder);
    const names = readdirSync(`${here}dist`).sort();
    assert.deepEqual(readdirSync(folder).sort(), names);
    for (const name of names)
      assert.equal(readFileSync(`${folder}/${name}`, "utf8"), readFileSync(`${here}dist/${name}`, "utf8"), name);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the types are right", { skip: tools }, () => {
  for (const project of ["tsconfig.json", "tsconfig.dashboard.json"]) run("node_modules/typescript/bin/tsc", "--project", project);
});
