/* What models showed when they were asked, kept in this browser with its date. */
import type { ProbeResult } from "@/api/providers";
import { keep, readKept } from "@/lib/persisted";
import { createStore } from "@/lib/store";

export interface Probed extends ProbeResult {
  at: string;
}

const KEY = "probes";
const FRESH_MS = 7 * 86_400_000;

export const TASKS = [
  ["answers in words", "Answers"],
  ["calls a tool", "Calls tools"],
  ["uses what a tool returned", "Uses returns"],
  ["obeys a forced call", "Obeys force"],
  ["keeps arguments whole", "Whole arguments"],
  ["makes two calls at once", "Several at once"],
  ["keeps to a JSON schema", "Obeys schema"],
] as const;

export const probes = createStore<Record<string, Probed>>(read());

function read(): Record<string, Probed> {
  try {
    return JSON.parse(readKept(KEY) ?? "{}") as Record<string, Probed>;
  } catch {
    return {};
  }
}

export function keepProbe(found: ProbeResult): void {
  probes.set((now) => ({ ...now, [found.handle]: { ...found, at: new Date().toISOString() } }));
  keep(KEY, JSON.stringify(probes.get()));
}

export type Verdict = "y" | "x" | "o" | "q";

/** y works, x failed, o worked earlier (the result is old), q not probed. */
export function verdictOf(probed: Probed | undefined, task: string, now = Date.now()): Verdict {
  const found = probed?.tasks.find((each) => each.task === task);
  if (!probed || !found) return "q";
  if (!found.passed) return "x";
  return now - Date.parse(probed.at) < FRESH_MS ? "y" : "o";
}
