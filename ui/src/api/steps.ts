/* Runs and their steps, as far as the chat tells of them. */
import { queryOptions } from "@tanstack/react-query";
import { ask } from "@/api/client";

export interface StepRecord {
  id: string;
  run_id: string;
  prompt_tokens: number;
  completion_tokens: number;
  prompt_tokens_details: { cached_tokens: number | null } | null;
  cost_usd: number | null;
  model_handle: string | null;
  status: string;
  stop_reason: string | null;
}

export interface StepMetrics {
  step_ns: number | null;
  llm_request_ns: number | null;
  tool_execution_ns: number | null;
}

/** Oldest first. */
export function runStepsQuery(runId: string) {
  return queryOptions({
    queryKey: ["run", runId, "steps"],
    queryFn: () => ask<StepRecord[]>("GET", `/v1/runs/${runId}/steps`, { query: { order: "asc", limit: 200 } }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function stepMetricsQuery(stepId: string) {
  return queryOptions({
    queryKey: ["step", stepId, "metrics"],
    queryFn: () => ask<StepMetrics>("GET", `/v1/steps/${stepId}/metrics`),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}
