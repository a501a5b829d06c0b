// Build the page: one script and one style, with their licenses and a digest of what they are made
// from. tests/read/report/test_bundle.py computes the digest again and says when to build anew.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build } from "esbuild";

const BUNDLE = "../../src/hwprices/read/report/bundle";
const INPUTS = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json"];

const sources = [
  ...INPUTS,
  ...readdirSync("src", { recursive: true }).filter((name) => /\.(tsx?|css)$/.test(name)).map((name) => `src/${name}`),
].sort();

const digest = createHash("sha256");
for (const name of sources) {
  const content = createHash("sha256").update(readFileSync(name)).digest("hex");
  digest.update(`${name} ${content}\n`);
}

const result = await build({
  entryPoints: { page: "src/main.tsx", machine: "src/machine.tsx", "page.css": "src/page.css" },
  outdir: BUNDLE,
  outExtension: {},
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome123", "firefox125", "safari17.5"],
  legalComments: "none",
  metafile: true,
  write: false,
});

for (const file of result.outputFiles) {
  const name = basename(file.path).replace(".css.css", ".css");
  writeFileSync(`${BUNDLE}/${name}`, file.text.trimEnd() + "\n");
}

// every package of which a line is in the script
const packages = new Set(
  Object.keys(result.metafile.inputs)
    .map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1])
    .filter(Boolean),
);
const licenses = [...packages].sort().map((name) => {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
});
writeFileSync(
  `${BUNDLE}/LICENSES.txt`,
  `page.js contains parts of these packages.\n\n${licenses.join("\n" + "-".repeat(78) + "\n\n")}`,
);
writeFileSync(`${BUNDLE}/sources.sha256`, `${digest.digest("hex")}\n`);
console.log(`built from ${sources.length} files, ${packages.size} packages`);
