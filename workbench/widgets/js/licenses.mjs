// Write the licences of every package whose code is in the bundles: node licenses.mjs METAFILE MODULES OUT
// METAFILE is esbuild's account of the bundles, MODULES the folder node_modules. Called by ./build.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PACKAGE = /node_modules\/((?:@[^/]+\/)?[^/]+)\//;
const IMPORT = /\bfrom\s*["']((?:@[^/"']+\/)?[^./"'][^/"']*)/g;
const LICENSE = /^licen[cs]e(\.md|\.txt)?$/i;

const [metafile, modules, out] = process.argv.slice(2);

/** Names of the packages of which at least one byte is in a bundle. */
function bundled() {
  const names = new Set();
  for (const output of Object.values(JSON.parse(readFileSync(metafile, "utf8")).outputs)) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const found = PACKAGE.exec(input);
      if (found && bytesInOutput > 0) names.add(found[1]);
    }
  }
  return names;
}

const manifest = (name) => JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8"));

/** Development dependencies that the sources of a package import: its published file already contains their code. */
function inlined(name) {
  const sources = join(modules, name, "src");
  const development = Object.keys(manifest(name).devDependencies ?? {});
  if (!development.length || !existsSync(sources)) return [];
  const imported = new Set();
  for (const file of readdirSync(sources, { recursive: true })) {
    if (!/\.(m?js|ts)$/.test(file)) continue;
    for (const [, other] of readFileSync(join(sources, file), "utf8").matchAll(IMPORT)) imported.add(other);
  }
  return development.filter((other) => imported.has(other));
}

function text(name) {
  const folder = join(modules, name);
  const file = existsSync(folder) ? readdirSync(folder).find((entry) => LICENSE.test(entry)) : undefined;
  const found = file === undefined ? "" : readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim();
  if (!found) throw new Error(`no licence text of ${name}, which is in the bundle; add it to devDependencies`);
  return found;
}

/** Packages by licence text, those with equal texts together. */
const byText = new Map();
function add(name, label) {
  const licence = text(name);
  byText.set(licence, [...(byText.get(licence) ?? []), `${label} (${manifest(name).license})`]);
}

for (const name of [...bundled()].sort()) {
  const label = `${name} ${manifest(name).version}`;
  add(name, label);
  for (const other of inlined(name)) add(other, `${other}, inside ${label}`);
}

const rule = "=".repeat(80);
const sections = [...byText].map(([licence, names]) => `${rule}\n${names.join("\n")}\n${rule}\n\n${licence}\n`);
writeFileSync(
  out,
  "The JavaScript and CSS files beside this one contain code of the packages below. Notices that the packages carry\n" +
    "inside their code are in the files *.LEGAL.txt. `make widgets` writes this file.\n\n" +
    sections.join("\n"),
);
