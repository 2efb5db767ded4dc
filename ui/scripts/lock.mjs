// Writes package-lock.json anew, with every platform's builds of a native package in it.
//
// A registry that mirrors only what was asked for may lack the builds for other platforms, and npm then leaves
// them out of the lock, which it refuses to install from. They are named here by version and platform; the
// digest is missing for those alone.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";

const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const PROCESSORS = ["arm64", "arm", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "x64", "wasm32"];

process.chdir(new URL("..", import.meta.url).pathname);
rmSync("package-lock.json", { force: true });
execFileSync("npm", ["install", "--package-lock-only", "--loglevel=error"], { stdio: "inherit" });
const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
for (const owner of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(owner.optionalDependencies ?? {})) {
    const path = `node_modules/${name}`;
    if (lock.packages[path]?.version) continue;
    const words = name.split(/[-/]/);
    const system = SYSTEMS.filter((each) => words.includes(each));
    const processor = PROCESSORS.filter((each) => words.some((word) => word === each || (each === "arm" && word === "armv7")));
    lock.packages[path] = { version, dev: true, optional: true, ...(processor.length && { cpu: processor }), ...(system.length && { os: system }) };
    if (words.includes("musl")) lock.packages[path].libc = ["musl"];
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
const text = `${JSON.stringify(lock, null, 2)}\n`;
if (text.includes('"resolved"')) throw new Error("package-lock.json must name no host");
writeFileSync("package-lock.json", text);
