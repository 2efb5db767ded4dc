// After the build: holds the first load to its limit, and writes each file compressed beside itself.
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, brotliCompressSync, gzipSync } from "node:zlib";

const LIMIT_KB = 300;
const folder = new URL("../../src/remanence/edge/static/", import.meta.url).pathname;
const manifest = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
rmSync(join(folder, "manifest.json"));

const first = new Set(["index.html", "theme.js"]);
(function add(name) {
  const chunk = manifest[name];
  if (!chunk || first.has(chunk.file)) return;
  first.add(chunk.file);
  for (const style of chunk.css ?? []) first.add(style);
  for (const other of chunk.imports ?? []) add(other);
})("index.html");

let loaded = 0;
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/\.(js|css|html|svg)$/.test(entry.name)) continue;
  const path = join(entry.parentPath, entry.name);
  const plain = readFileSync(path);
  const zipped = gzipSync(plain, { level: 9 });
  if (first.has(path.slice(folder.length))) loaded += zipped.length;
  if (plain.length < 1024 || entry.name.endsWith(".html")) continue;
  writeFileSync(`${path}.gz`, zipped);
  writeFileSync(`${path}.br`, brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }));
}
const kb = Math.round(loaded / 1024);
console.log(`First load: ${kb} KB gzipped (limit ${LIMIT_KB} KB)`);
if (kb > LIMIT_KB) process.exit(1);
