import { describe, expect, it } from "vitest";
import type { RunDetail } from "@/api/runs";
import { axisLength, buildTimeline } from "@/features/runs/timeline";

const run = { id: "run-1", status: "completed", created_at: "2026-11-16T09:00:00Z", total_duration_ns: 3e9 } as RunDetail["run"];
const step = { id: "step-1", status: "success", model: "gpt" } as RunDetail["steps"][number];
const spans: RunDetail["spans"] = [
  { name: "run", span_id: "run-1", parent_span_id: null, start_ns: 0, duration_ns: 3e9, attributes: {} },
  { name: "step", span_id: "step-1", parent_span_id: "run-1", start_ns: 0, duration_ns: null, attributes: {} },
  { name: "model", span_id: "m", parent_span_id: "step-1", start_ns: 0, duration_ns: 2e9, attributes: { first_token_ns: 5e8 } },
  { name: "tools", span_id: "t", parent_span_id: "step-1", start_ns: 2e9, duration_ns: 4e8, attributes: {} },
];
const messages = [{ id: "m", step_id: "step-1", message_type: "tool_return_message", name: "memory_insert", date: "" }];

describe("a timeline", () => {
  it("parts the model's time at its first token and names the tools", () => {
    const { steps, open } = buildTimeline({ run, steps: [step], spans, messages }, 0);
    expect(steps[0]?.rows.map((row) => [row.name, row.bars.map((bar) => [bar.kind, bar.startMs, bar.ms])])).toEqual([
      ["gpt", [["wait", 0, 500], ["model", 500, 1500]]],
      ["memory_insert", [["tool", 2000, 400]]],
    ]);
    expect([steps[0]?.ms, open]).toEqual([2400, null]);
  });

  it("grows while the run is at work", () => {
    const live = { ...run, status: "running", total_duration_ns: null } as RunDetail["run"];
    expect(buildTimeline({ run: live, steps: [step], spans, messages }, 4000).open).toMatchObject({ startMs: 2400, ms: 1600 });
  });

  it("has a round axis, which doubles while it is live", () => {
    expect([axisLength(7900, false), axisLength(21, false), axisLength(950, false), axisLength(2100, true)]).toEqual([8000, 40, 1000, 4000]);
  });
});
