// The whole build: Vite, then what follows it.
import { build } from "vite";

await build({ root: new URL("..", import.meta.url).pathname, logLevel: "warn" });
await import("./finish.mjs");
