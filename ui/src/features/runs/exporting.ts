import { ask } from "@/api/client";
import type { RunDetail, StepTrace } from "@/api/runs";

/** All that is known of a run as one JSON file, the exchanges with the model where they were kept. */
export async function exportRun(detail: RunDetail): Promise<void> {
  const traces = await Promise.all(detail.steps.map((step) => ask<StepTrace | null>("GET", `/v1/steps/${step.id}/trace`)));
  const url = URL.createObjectURL(new Blob([JSON.stringify({ ...detail, traces }, null, 2)], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${detail.run.id}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
