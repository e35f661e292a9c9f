// Build dist/ from src/, and copy the scripts into the Python package: its wheel carries them, and needs no node.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { minify } from "terser";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = process.argv[2] ?? `${here}dist`; // another folder gets the files, and the package none

/** What sends through a relay has another way. @type {import("esbuild").Plugin} */
const relayed = {
  name: "relay",
  setup: ({ onResolve }) => onResolve({ filter: /^\.\/route\.js$/ }, () => ({ path: `${here}src/relay.js` })),
};

/** @param {string} source @param {string} name @param {"iife" | "esm"} format @param {import("esbuild").BuildOptions} [more] @returns its text */
async function bundle(source, name, format, more) {
  const { outputFiles } = await build({
    entryPoints: [`${here}src/${source}`],
    bundle: true,
    minify: true,
    target: "es2022",
    charset: "utf8",
    tsconfigRaw: "{}",
    format,
    mangleProps: format === "iife" ? /^(lookUp|fallback|size|odds|keep|respond)$/ : undefined, // no field of a survey, and used by us alone
    write: false,
    ...more,
  });
  const options = { ecma: 2020, module: format === "esm", compress: { passes: 5, inline: 1, unsafe: true, unsafe_arrows: true, unsafe_methods: true } };
  const { code } = await minify(outputFiles[0].text, options); // takes 4 % off what esbuild leaves
  writeFileSync(`${out}/${name}`, `${code}\n`);
  return `${code}\n`;
}

mkdirSync(out, { recursive: true });
const more = createHash("sha256").update(await bundle("more.js", "hubbub-more.js", "iife")).digest();
const define = {
  MORE: `"hubbub-more-${more.toString("hex").slice(0, 16)}.js"`, // as the collector names it
  INTEGRITY: `"sha256-${more.toString("base64")}"`,
};
await bundle("start.js", "hubbub.js", "iife", { define });
await bundle("start.js", "hubbub-relay.js", "iife", { define, plugins: [relayed] });
await bundle("debug.js", "hubbub-debug.js", "iife");
await bundle("view.js", "hubbub-ledger.js", "iife");
await bundle("index.js", "hubbub.mjs", "esm");

// The declarations of the module's entry stand alone: they name no type of another file.
const types = mkdtempSync(`${tmpdir()}/hubbub-types-`);
const tsc = [`${here}node_modules/typescript/bin/tsc`, "--project", `${here}tsconfig.types.json`, "--outDir", types];
execFileSync(process.execPath, tsc, { stdio: "inherit" });
copyFileSync(`${types}/index.d.ts`, `${out}/hubbub.d.mts`);
rmSync(types, { recursive: true });

if (!process.argv[2]) {
  const served = `${here}../../src/hubbub/collector/static`;
  mkdirSync(served, { recursive: true });
  const names = ["hubbub.js", "hubbub-relay.js", "hubbub-more.js", "hubbub-debug.js", "hubbub-ledger.js", "hubbub.mjs"];
  for (const name of names) copyFileSync(`${out}/${name}`, `${served}/${name}`);
}
