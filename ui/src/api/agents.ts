/* Agents: what the list and the workbench ask for. */
import type { AgentState } from "@letta-ai/letta-client/resources/agents/agents";
import { queryOptions } from "@tanstack/react-query";
import { ask, letta } from "@/api/client";

export type Agent = AgentState;

/** Relations to load with an agent; without them their lists come empty. */
export const RELATIONS = ["agent.blocks", "agent.tags", "agent.tools", "agent.secrets", "agent.managed_group", "agent.pending_approval"] as const;

export function agentQuery(id: string) {
  return queryOptions({
    queryKey: ["agent", id],
    queryFn: () => letta.agents.retrieve(id, { include: [...RELATIONS] as never }),
  });
}

export async function searchAgents(query: string, limit = 8): Promise<Agent[]> {
  const page = await ask<Agent[]>("GET", "/v1/agents/", { query: { query_text: query || null, limit } });
  return page;
}

export function countAgents(): Promise<number> {
  return ask<number>("GET", "/v1/agents/count");
}
