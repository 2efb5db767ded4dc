/* From the wire to what is shown: whole messages and the pieces of a stream become one list of the same things. Pure. */
import type { ContentPart, WireApproval, WireCall, WireMessage } from "@/api/messages";

export interface Call {
  id: string;
  name: string;
  arguments: string;
}

export interface Return {
  id: string;
  text: string;
  failed: boolean;
  stdout: string;
  stderr: string;
}

export type Kind = "user" | "agent" | "thought" | "calls" | "returns" | "ask" | "answer" | "summary" | "notice" | "error";

export interface Msg {
  /** The same while a message is written and when it is read again, so that nothing is drawn anew. */
  key: string;
  id: string;
  kind: Kind;
  date: string;
  stepId: string | null;
  runId: string | null;
  text: string;
  images: readonly string[];
  calls: readonly Call[];
  returns: readonly Return[];
  approvals: readonly WireApproval[];
  raw: unknown;
  isLive: boolean;
  /** Sent, but an earlier run is still at work. */
  isQueued: boolean;
}

const KINDS: Record<string, Kind> = {
  user_message: "user",
  assistant_message: "agent",
  reasoning_message: "thought",
  hidden_reasoning_message: "thought",
  tool_call_message: "calls",
  tool_return_message: "returns",
  approval_request_message: "ask",
  approval_response_message: "answer",
  summary_message: "summary",
  error_message: "error",
};

export function keyOf(wire: WireMessage): string {
  return wire.otid ?? `${wire.id}:${wire.message_type}`;
}

export function textOf(content: string | ContentPart[] | undefined): string {
  if (typeof content === "string") return content;
  return (content ?? []).filter((part) => part.type === "text").map((part) => part.text ?? "").join("\n");
}

function imagesOf(content: string | ContentPart[] | undefined): string[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap(({ type, source }) => (type === "image" && source?.data ? [`data:${source.media_type ?? "image/png"};base64,${source.data}`] : []));
}

function callsOf(wire: WireMessage): WireCall[] {
  const several = wire.tool_calls;
  if (Array.isArray(several)) return several;
  return several ? [several] : wire.tool_call ? [wire.tool_call] : [];
}

function returnsOf(wire: WireMessage): Return[] {
  const several = wire.tool_returns?.length ? wire.tool_returns : wire.tool_call_id ? [{ ...wire, tool_call_id: wire.tool_call_id, tool_return: wire.tool_return, status: wire.status ?? "success" }] : [];
  return several.map((each) => ({
    id: each.tool_call_id,
    text: typeof each.tool_return === "string" ? each.tool_return : Array.isArray(each.tool_return) ? textOf(each.tool_return as ContentPart[]) : JSON.stringify(each.tool_return),
    failed: each.status === "error",
    stdout: each.stdout?.join("\n") ?? "",
    stderr: each.stderr?.join("\n") ?? "",
  }));
}

/** Older clients and the server pack notices for the model into a user's message. */
function unpack(text: string): { kind: Kind; text: string } {
  if (!text.startsWith("{") || !text.includes('"type"')) return { kind: "user", text };
  try {
    const packed = JSON.parse(text) as { type?: string; message?: string; reason?: string };
    if (packed.type === "user_message") return { kind: "user", text: packed.message ?? text };
    if (packed.type === "login" || packed.type === "heartbeat") return { kind: "notice", text: packed.reason ?? packed.type };
    if (packed.type === "system_alert") return { kind: packed.message?.includes("summary") ? "summary" : "notice", text: packed.message ?? text };
  } catch {
    /* somebody wrote JSON */
  }
  return { kind: "user", text };
}

/** Null for what is not shown: pings, the system message, counts. */
export function toMsg(wire: WireMessage, isLive = false): Msg | null {
  let kind = KINDS[wire.message_type];
  if (!kind) return null;
  let text = wire.reasoning ?? wire.summary ?? (kind === "error" ? (wire.message ?? wire.detail ?? "The run failed.") : textOf(wire.content));
  if (wire.message_type === "hidden_reasoning_message") text = "";
  if (kind === "user") ({ kind, text } = unpack(text));
  return {
    key: kind === "error" ? `error:${wire.run_id}` : keyOf(wire),
    id: wire.id,
    kind,
    date: wire.date ?? new Date().toISOString(),
    stepId: wire.step_id ?? null,
    runId: wire.run_id ?? null,
    text,
    images: imagesOf(wire.content),
    calls: callsOf(wire).map((call) => ({ id: call.tool_call_id, name: call.name ?? "", arguments: call.arguments ?? "" })),
    returns: kind === "returns" ? returnsOf(wire) : [],
    approvals: wire.approvals ?? [],
    raw: wire,
    isLive,
    isQueued: false,
  };
}

/** The list with one more piece of a stream in it. Messages that it does not touch stay the same objects. */
export function foldFrame(list: readonly Msg[], wire: WireMessage): readonly Msg[] {
  const piece = toMsg(wire, true);
  if (!piece) return list;
  const at = list.findLastIndex((each) => each.key === piece.key);
  const old = list[at];
  if (!old) return [...list, piece];
  if (!old.isLive) return list; // read from the history already
  const calls = [...old.calls];
  for (const call of piece.calls) {
    const same = calls.findIndex((each) => each.id === call.id);
    const before = calls[same];
    if (before) calls[same] = { id: call.id, name: before.name || call.name, arguments: before.arguments + call.arguments };
    else calls.push(call);
  }
  const grown: Msg = { ...old, text: old.text + piece.text, calls, returns: piece.returns.length ? piece.returns : old.returns };
  return list.with(at, grown);
}

/** What was read from the server, over what is shown: in its order, nothing lost, nothing twice. */
export function merge(shown: readonly Msg[], read: readonly Msg[]): readonly Msg[] {
  const fresh = new Set(read.map((each) => each.key));
  const start = shown.findIndex((each) => fresh.has(each.key));
  if (start < 0) return [...shown, ...read];
  const old = new Map(shown.map((each) => [each.key, each]));
  const after = new Map<string, Msg[]>(); // what the server does not keep, such as a stream's error, behind its neighbour
  let neighbour = "";
  for (const each of shown.slice(start)) {
    if (fresh.has(each.key)) neighbour = each.key;
    else after.set(neighbour, [...(after.get(neighbour) ?? []), each]);
  }
  return [
    ...shown.slice(0, start),
    ...read.flatMap((each) => {
      const before = old.get(each.key);
      const isSame = before && !before.isLive && !before.isQueued && before.id === each.id;
      return [isSame ? before : each, ...(after.get(each.key) ?? [])];
    }),
  ];
}
