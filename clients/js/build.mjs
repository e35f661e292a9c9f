// Build dist/ from src/, and copy the self-starting scripts into the Python package, whose wheel carries them.
import { build } from "esbuild";
import { copyFileSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = process.argv[2] ?? here + "dist";
const common = { bundle: true, minify: true, target: "es2022", legalComments: "none", charset: "utf8" };

await build({ ...common, entryPoints: [here + "src/start.js"], format: "iife", outfile: `${out}/hubbub.js` });
