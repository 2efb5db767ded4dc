/* What is said to an agent at a time to come. */
import { queryOptions } from "@tanstack/react-query";
import { ask, letta } from "@/api/client";

type Timing = { type: "one-time"; scheduled_at: number } | { type: "recurring"; cron_expression: string; timezone?: string };

export interface Schedule {
  id: string;
  message: { messages: { content: string | { text?: string }[] }[] };
  schedule: Timing;
  next_scheduled_time: string | null;
  last_run_at: string | null;
  last_run_id: string | null;
}

export function schedulesQuery(agentId: string) {
  return queryOptions({
    queryKey: ["agent", agentId, "schedules"],
    queryFn: () => ask<{ scheduled_messages: Schedule[]; has_next_page: boolean }>("GET", `/v1/agents/${agentId}/schedule`),
  });
}

export function createSchedule(agentId: string, text: string, schedule: Timing): Promise<unknown> {
  return letta.agents.schedule.create(agentId, { messages: [{ role: "user", content: text }], schedule });
}

export function deleteSchedule(agentId: string, id: string): Promise<unknown> {
  return letta.agents.schedule.delete(id, { agent_id: agentId });
}

export function wordsOf(schedule: Schedule): string {
  const content = schedule.message.messages[0]?.content ?? "";
  return typeof content === "string" ? content : content.map((part) => part.text ?? "picture").join(" ");
}
