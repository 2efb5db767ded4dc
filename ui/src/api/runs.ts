/* Runs and their steps: lists, and one run whole. */
import { queryOptions } from "@tanstack/react-query";
import { ask } from "@/api/client";

export interface Gist {
  agent_name: string | null;
  said: string | null;
  num_steps: number;
  prompt_tokens: number | null;
  cached_input_tokens: number | null;
  completion_tokens: number | null;
  cost_usd: number | null;
}

export interface Run {
  id: string;
  status: "created" | "running" | "completed" | "failed" | "cancelled";
  created_at: string;
  completed_at: string | null;
  agent_id: string;
  conversation_id: string | null;
  background: boolean;
  metadata: { error?: string; run_type?: string; [key: string]: unknown } | null;
  stop_reason: string | null;
  ttft_ns: number | null;
  total_duration_ns: number | null;
  gist?: Gist;
}

export interface Step {
  id: string;
  status: "pending" | "success" | "failed" | "cancelled";
  model: string | null;
  model_handle: string | null;
  provider_name: string | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  cached_input_tokens: number | null;
  reasoning_tokens: number | null;
  cost_usd?: number;
  stop_reason: string | null;
  error_type: string | null;
  error_data: { message?: string; code?: string } | null;
  context_window_limit: number | null;
}

export interface Span {
  name: "run" | "step" | "model" | "tools" | "database";
  span_id: string;
  parent_span_id: string | null;
  start_ns: number;
  duration_ns: number | null;
  attributes: { first_token_ns?: number | null };
}

export interface RunMessage {
  id: string;
  date: string;
  message_type: string;
  step_id: string | null;
  content?: string | { type: string; text?: string }[];
  reasoning?: string;
  tool_call?: { name?: string; arguments?: string; tool_call_id: string };
  tool_calls?: { name?: string; arguments?: string; tool_call_id: string }[];
  tool_return?: unknown;
  status?: "success" | "error";
  name?: string | null;
  summary?: string;
}

export interface RunDetail {
  run: Run;
  steps: Step[];
  spans: Span[];
  messages: RunMessage[];
}

export interface RunFilter {
  agent: string | null;
  state: RunState;
}

export const RUN_STATES = [
  ["all", "All states"],
  ["active", "At work"],
  ["approval", "Waits for approval"],
  ["completed", "Finished"],
  ["failed", "Failed"],
  ["cancelled", "Stopped"],
] as const;
export type RunState = (typeof RUN_STATES)[number][0];

const WANTED: Record<RunState, Record<string, string | boolean | string[]>> = {
  all: {},
  active: { active: true },
  approval: { stop_reason: "requires_approval" },
  completed: { statuses: ["completed"] },
  failed: { statuses: ["failed"] },
  cancelled: { statuses: ["cancelled"] },
};

export const RUNS_A_PAGE = 50;

export function isActive(run: Run): boolean {
  return run.status === "created" || run.status === "running";
}

export function listRuns(filter: RunFilter, after: string | null): Promise<Run[]> {
  return ask("GET", "/v1/runs/", { query: { ...WANTED[filter.state], agent_id: filter.agent, after, limit: RUNS_A_PAGE, include_gist: true } });
}

/** Asked again while the run is at work; what is over does not change. */
export function runQuery(id: string) {
  return queryOptions({
    queryKey: ["run", id],
    queryFn: async (): Promise<RunDetail> => {
      const [run, steps, spans, messages] = await Promise.all([
        ask<Run>("GET", `/v1/runs/${id}`),
        ask<Step[]>("GET", `/v1/runs/${id}/steps`, { query: { order: "asc", limit: 1000 } }),
        ask<Span[]>("GET", `/v1/runs/${id}/trace`, { query: { limit: 5000 } }),
        ask<RunMessage[]>("GET", `/v1/runs/${id}/messages`, { query: { limit: 1000 } }),
      ]);
      return { run, steps, spans, messages };
    },
    refetchInterval: (query) => (query.state.data && !isActive(query.state.data.run) ? false : 700),
  });
}

export interface StepTrace {
  created_at: string;
  request_json: Record<string, unknown>;
  response_json: Record<string, unknown>;
  latency_ms: number | null;
}

export function traceQuery(stepId: string) {
  return queryOptions({
    queryKey: ["step", stepId, "trace"],
    queryFn: () => ask<StepTrace | null>("GET", `/v1/steps/${stepId}/trace`),
    staleTime: 60_000,
  });
}

export function cancelRun(run: Run): Promise<unknown> {
  return ask("POST", `/v1/agents/${run.agent_id}/messages/cancel`, { body: { run_ids: [run.id] } });
}
