import type { Run } from "@/api/runs";

export interface RunLook {
  dot: "run" | "ok" | "warn" | "bad" | "idle";
  words: string;
  tone: "" | "warn" | "danger";
}

const REASONS: Record<string, string> = {
  max_steps: "reached the most steps",
  no_tool_call: "made no call",
  invalid_tool_call: "called a tool wrongly",
  invalid_llm_response: "answer could not be read",
  llm_api_error: "the provider failed",
  context_window_overflow_in_system_prompt: "the prompt is too long",
  budget_exceeded: "the budget is spent",
  error: "failed",
};

export function lookOf(run: Run): RunLook {
  if (run.status === "created") return { dot: "run", words: "waits its turn", tone: "" };
  if (run.status === "running") return { dot: "run", words: "at work", tone: "" };
  if (run.status === "cancelled") return { dot: "idle", words: "stopped", tone: "" };
  const reason = run.stop_reason ?? "";
  if (reason === "requires_approval") return { dot: "warn", words: "asks for approval", tone: "warn" };
  if (run.status === "failed") return { dot: "bad", words: REASONS[reason] ?? reason.replaceAll("_", " "), tone: "danger" };
  return { dot: "ok", words: reason === "max_steps" ? "reached the most steps" : "finished", tone: "" };
}

/** What the run was about, in a line. */
export function titleOf(run: Run): string {
  return run.gist?.said?.trim() || (run.metadata?.run_type ?? "run").replaceAll("_", " ");
}
