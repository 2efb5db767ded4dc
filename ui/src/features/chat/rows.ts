/* What stands in the log, one row after another. Pure. */
import type { Call, Msg, Return } from "@/features/chat/fold";

export interface ShownCall extends Call {
  result: Return | null;
  state: "writing" | "running" | "done" | "failed" | "waiting" | "approved" | "denied" | "unknown";
  reason: string | null;
}

export type Row =
  | { kind: "message"; key: string; msg: Msg }
  | { kind: "thought"; key: string; msg: Msg }
  | { kind: "call"; key: string; msg: Msg; call: ShownCall }
  | { kind: "ask"; key: string; msg: Msg; calls: readonly ShownCall[] }
  | { kind: "line"; key: string; msg: Msg }
  | { kind: "step"; key: string; stepId: string; runId: string };

interface Answers {
  returns: Map<string, Return>;
  verdicts: Map<string, { approve: boolean; reason: string | null }>;
}

export function toRows(list: readonly Msg[], isRunning: boolean): Row[] {
  const answers: Answers = { returns: new Map(), verdicts: new Map() };
  for (const msg of list) {
    for (const each of msg.returns) answers.returns.set(each.id, each);
    for (const each of msg.approvals) answers.verdicts.set(each.tool_call_id, { approve: each.approve ?? true, reason: each.reason ?? null });
  }
  const rows: Row[] = [];
  const last = list.at(-1);
  list.forEach((msg, at) => {
    if (msg.kind === "thought") {
      rows.push({ kind: "thought", key: msg.key, msg });
    } else if (msg.kind === "calls" || msg.kind === "ask") {
      const calls = msg.calls.map((call) => showCall(call, msg, answers, isRunning && msg.isLive, msg === last));
      const isOpen = msg.kind === "ask" && calls.some((call) => call.state === "waiting");
      if (isOpen) rows.push({ kind: "ask", key: msg.key, msg, calls });
      else for (const call of calls) rows.push({ kind: "call", key: `${msg.key}:${call.id}`, msg, call });
    } else if (msg.kind === "user" || msg.kind === "agent") {
      rows.push({ kind: "message", key: msg.key, msg });
    } else if (msg.kind === "summary" || msg.kind === "notice" || msg.kind === "error") {
      rows.push({ kind: "line", key: msg.key, msg });
    }
    const next = list[at + 1];
    const isOver = next ? next.stepId !== msg.stepId : !isRunning;
    if (msg.stepId && msg.runId && msg.kind !== "user" && isOver) rows.push({ kind: "step", key: `${msg.stepId}:${msg.key}`, stepId: msg.stepId, runId: msg.runId });
  });
  return rows;
}

function showCall(call: Call, msg: Msg, answers: Answers, isLive: boolean, isLast: boolean): ShownCall {
  const result = answers.returns.get(call.id) ?? null;
  const verdict = answers.verdicts.get(call.id);
  const reason = verdict && !verdict.approve ? (verdict.reason ?? "") : null;
  return { ...call, result, reason, state: stateOf() };

  function stateOf(): ShownCall["state"] {
    if (verdict && !verdict.approve) return "denied";
    if (result) return result.failed ? (/outcome is unknown|was not repeated/i.test(result.text) ? "unknown" : "failed") : verdict ? "approved" : "done";
    if (msg.kind === "ask" && !verdict) return msg.isLive && isLive && isLast && !isWhole(call.arguments) ? "writing" : "waiting";
    if (isLive) return isLast && !isWhole(call.arguments) ? "writing" : "running";
    return verdict ? "running" : "unknown";
  }
}

export function isWhole(json: string): boolean {
  try {
    JSON.parse(json);
    return true;
  } catch {
    return false;
  }
}

/** The request that waits for an answer, if there is one. */
export function openRequest(rows: readonly Row[]): (Row & { kind: "ask" }) | null {
  const found = rows.findLast((row) => row.kind === "ask");
  return found?.kind === "ask" && found.calls.every((call) => call.state !== "writing") ? found : null;
}

/** `folder: "quotes", include_vat: true` */
export function argumentsLine(json: string): string {
  try {
    const given = JSON.parse(json) as Record<string, unknown>;
    return Object.entries(given).map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ");
  } catch {
    return json.replaceAll("\n", " ");
  }
}
