/* Where a run's time went, as rows of bars. Pure. */
import type { RunDetail, RunMessage, Span, Step } from "@/api/runs";
import type { Glyph } from "@/components/Icon";
import { duration } from "@/lib/format";

export interface Bar {
  kind: "span" | "wait" | "model" | "tool" | "db";
  startMs: number;
  ms: number;
  title: string;
}

export interface Row {
  key: string;
  icon: Glyph;
  name: string;
  ms: number | null;
  bars: Bar[];
  note: string;
}

export interface StepRows {
  number: number;
  step: Step;
  ms: number | null;
  bar: Bar | null;
  rows: Row[];
}

export interface Timeline {
  steps: StepRows[];
  /** What the model is at right now, in a live run. */
  open: Bar | null;
  totalMs: number;
}

const NS = 1e6;

export function buildTimeline({ run, steps, spans, messages }: RunDetail, now: number): Timeline {
  const root = spans.find((each) => each.name === "run");
  const start = root?.start_ns ?? Date.parse(run.created_at) * NS;
  const at = (ns: number) => (ns - start) / NS;
  let end = 0;
  const built = steps.map((step, index): StepRows => {
    const parts = spans.filter((each) => each.parent_span_id === step.id);
    const whole = spans.find((each) => each.span_id === step.id);
    const rows = parts.map((part) => rowOf(part, step, messages, at)).filter((row) => row !== null);
    const begin = whole ? at(whole.start_ns) : 0;
    const ms = whole?.duration_ns ? whole.duration_ns / NS : parts.reduce((sum, part) => sum + (part.duration_ns ?? 0) / NS, 0);
    if (!parts.some((part) => part.name === "model") && ms > 0 && step.status === "failed") {
      rows.unshift({ key: `${step.id}-model`, icon: "chip", name: step.model ?? "model", ms, bars: [{ kind: "wait", startMs: begin, ms, title: "no answer" }], note: "no answer" });
    }
    rows.push(...waiting(step, messages));
    end = Math.max(end, begin + ms);
    return { number: index + 1, step, ms, bar: ms > 0 ? { kind: "span", startMs: begin, ms, title: duration(ms) } : null, rows };
  });
  const live = run.status === "created" || run.status === "running";
  const sinceMs = live ? Math.max(end, now - start / NS) : end;
  const open: Bar | null = live && sinceMs > end ? { kind: "wait", startMs: end, ms: sinceMs - end, title: "under way" } : null;
  return { steps: built, open, totalMs: Math.max(sinceMs, (run.total_duration_ns ?? 0) / NS, 1) };
}

function rowOf(part: Span, step: Step, messages: readonly RunMessage[], at: (ns: number) => number): Row | null {
  const ms = (part.duration_ns ?? 0) / NS;
  const startMs = at(part.start_ns);
  if (part.name === "model") {
    const first = Math.min(ms, (part.attributes.first_token_ns ?? 0) / NS);
    const bars: Bar[] = [{ kind: "model", startMs: startMs + first, ms: ms - first, title: `writing, ${duration(ms - first)}` }];
    if (first) bars.unshift({ kind: "wait", startMs, ms: first, title: `waiting for the first token, ${duration(first)}` });
    return { key: part.span_id, icon: "chip", name: step.model ?? "model", ms, bars, note: first ? `first token ${duration(first)}` : "" };
  }
  if (part.name === "tools") {
    const names = returned(step, messages);
    if (!names.length) return null;
    return { key: part.span_id, icon: glyphOf(names[0] ?? ""), name: names.join(", "), ms, bars: [{ kind: "tool", startMs, ms, title: `${names.join(", ")}, ${duration(ms)}` }], note: names.length > 1 ? `${names.length} calls` : "" };
  }
  return { key: part.span_id, icon: "block", name: "database", ms, bars: [{ kind: "db", startMs, ms, title: `saving the step, ${duration(ms)}` }], note: `save ${duration(ms)}` };
}

function returned(step: Step, messages: readonly RunMessage[]): string[] {
  return messages.filter((each) => each.step_id === step.id && each.message_type === "tool_return_message").map((each) => each.name ?? "tool");
}

/** Calls that somebody else must answer: they end the run without being made. */
function waiting(step: Step, messages: readonly RunMessage[]): Row[] {
  const asked = messages.filter((each) => each.step_id === step.id && each.message_type === "approval_request_message");
  const calls = asked.flatMap((each) => each.tool_calls ?? (each.tool_call ? [each.tool_call] : []));
  return calls.map((call) => ({ key: call.tool_call_id, icon: "shield", name: call.name ?? "tool", ms: null, bars: [], note: "waits for approval, the run ends here" }));
}

export function glyphOf(tool: string): Glyph {
  if (tool.startsWith("archival_memory")) return "archive";
  if (/^(core_)?memory/.test(tool)) return "block";
  if (tool === "conversation_search") return "recall";
  return "tool";
}

const STEPS = [1, 2, 4, 8, 10];

/** A round length that holds it all. A live run's axis doubles, so that bars seldom move. */
export function axisLength(ms: number, isLive: boolean): number {
  if (isLive) {
    let length = 1000;
    while (length < ms) length *= 2;
    return length;
  }
  const scale = 10 ** Math.floor(Math.log10(Math.max(ms, 1)));
  return (STEPS.find((each) => each * scale >= ms) ?? 10) * scale;
}
