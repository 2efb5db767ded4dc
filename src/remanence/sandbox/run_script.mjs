// Runs one tool or script inside the sandbox. The job is in job.json; its outcome goes to handle 3, as one
// frame of JSON behind its length.
import { readFileSync, symlinkSync, writeFileSync, writeSync } from "node:fs";
import * as nodeModule from "node:module";

function send(value) {
  const body = Buffer.from(JSON.stringify(value));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  let rest = Buffer.concat([head, body]);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(3, rest));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

async function strip(source) {
  if (typeof nodeModule.stripTypeScriptTypes === "function") {
    return nodeModule.stripTypeScriptTypes(source, { mode: "transform" });
  }
  const require = nodeModule.createRequire(`${process.cwd()}/`);
  return require("amaro").transformSync(source, { mode: "transform" }).code;
}

try {
  const job = JSON.parse(readFileSync("job.json", "utf8"));
  if (job.packages !== null) symlinkSync(job.packages, "node_modules");
  let source = readFileSync("source.txt", "utf8");
  if (job.language === "typescript") source = await strip(source);
  const prelude =
    'import { createRequire as __createRequire } from "node:module"; ' +
    "const require = __createRequire(import.meta.url); const module = { exports: {} }; const exports = module.exports; ";
  const ending = job.name === null ? "" : `\n;export { ${job.name} as __tool__ };\n`;
  writeFileSync("tool.mjs", prelude + source + ending);
  const loaded = await import(`${process.cwd()}/tool.mjs`);
  let result;
  if (job.name !== null) {
    const given = job.order === null ? [job.args] : job.order.map((name) => job.args[name]);
    result = await loaded.__tool__(...given);
  }
  const text = typeof result === "string" ? result : (JSON.stringify(result) ?? "null");
  send({ text, value: result ?? null });
} catch (error) {
  const name = error?.name ?? "Error";
  send({ error: `${name}: ${error?.message ?? error}`, traceback: String(error?.stack ?? error) });
}
process.exit(0);
