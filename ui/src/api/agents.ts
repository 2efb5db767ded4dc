/* Agents: what the list and the workbench ask for. */
import type { AgentCreateParams, AgentState } from "@letta-ai/letta-client/resources/agents/agents";
import { queryOptions } from "@tanstack/react-query";
import { ask, letta } from "@/api/client";

/** With what our server adds: the revision of each block. */
export type Agent = AgentState & { last_stop_reason?: string | null; pending_approval?: { id: string } | null };

/** Relations to load with an agent; without them their lists come empty. */
const RELATIONS = ["agent.blocks", "agent.tags", "agent.tools", "agent.secrets", "agent.managed_group", "agent.pending_approval"];

export interface AgentFilter {
  text: string;
  tag: string | null;
  orderBy: "last_run_completion" | "created_at" | "updated_at";
}

export function agentQuery(id: string) {
  return queryOptions({
    queryKey: ["agent", id],
    queryFn: () => ask<Agent>("GET", `/v1/agents/${id}`, { query: { include: RELATIONS } }),
  });
}

export function listAgents(filter: AgentFilter, after: string | null, limit: number): Promise<Agent[]> {
  const { text, tag, orderBy } = filter;
  const isId = /^agent-[0-9a-f-]{36}$/.test(text);
  if (isId) return ask<Agent>("GET", `/v1/agents/${text}`, { query: { include: ["agent.tags"] } }).then((found) => [found], () => []);
  return ask<Agent[]>("GET", "/v1/agents/", {
    query: { query_text: text || null, tags: tag ? [tag] : [], after, limit, order_by: orderBy, include: ["agent.tags"] },
  });
}

export function searchAgents(query: string, limit = 8): Promise<Agent[]> {
  return ask<Agent[]>("GET", "/v1/agents/", { query: { query_text: query || null, limit } });
}

export function countAgents(): Promise<number> {
  return ask<number>("GET", "/v1/agents/count");
}

export function listTags(): Promise<string[]> {
  return ask<string[]>("GET", "/v1/tags/", { query: { limit: 12 } });
}

export function createAgent(given: AgentCreateParams): Promise<Agent> {
  return letta.agents.create(given) as Promise<Agent>;
}

export function updateAgent(id: string, changes: Record<string, unknown>): Promise<Agent> {
  return ask<Agent>("PATCH", `/v1/agents/${id}`, { body: changes });
}

export function deleteAgent(id: string): Promise<unknown> {
  return letta.agents.delete(id);
}

/** A second agent with the same mind and settings, and a history of its own. */
export async function duplicateAgent(id: string): Promise<Agent> {
  const old = await ask<Agent>("GET", `/v1/agents/${id}`, { query: { include: RELATIONS } });
  const blocks = old.blocks.map(({ label, value, limit, description, read_only, metadata }) => ({ label, value, limit, description, read_only, metadata }));
  return ask<Agent>("POST", "/v1/agents/", {
    body: {
      name: `${old.name} copy`,
      agent_type: old.agent_type,
      description: old.description,
      system: old.system,
      model: old.model,
      model_settings: old.model_settings,
      context_window_limit: old.llm_config.context_window,
      embedding: old.embedding,
      compaction_settings: old.compaction_settings,
      timezone: old.timezone,
      tags: old.tags,
      metadata: old.metadata,
      memory_blocks: blocks,
      tool_ids: old.tools.map((tool) => tool.id),
      tool_rules: old.tool_rules,
      include_base_tools: false,
      secrets: Object.fromEntries((old.secrets ?? []).map((each) => [each.key, each.value])),
    },
  });
}

export interface ContextOverview {
  context_window_size_max: number;
  context_window_size_current: number;
  num_messages: number;
  num_archival_memory: number;
  num_recall_memory: number;
  num_tokens_external_memory_summary: number;
  external_memory_summary: string;
  num_tokens_system: number;
  system_prompt: string;
  num_tokens_core_memory: number;
  core_memory: string;
  num_tokens_memory_filesystem: number;
  memory_filesystem: string | null;
  num_tokens_tool_usage_rules: number;
  tool_usage_rules: string | null;
  num_tokens_directories: number;
  directories: string | null;
  num_tokens_summary_memory: number;
  summary_memory: string | null;
  num_tokens_functions_definitions: number;
  functions_definitions: { function: { name: string; description?: string | null } }[];
  num_tokens_messages: number;
  messages: { id: string; role: string; content: { type: string; text?: string }[]; tool_calls?: { function: { name: string; arguments: string } }[] | null }[];
}

export function fetchContext(id: string, conversation: string | null, signal: AbortSignal): Promise<ContextOverview> {
  return ask("GET", `/v1/agents/${id}/context`, { query: { conversation_id: conversation }, signal });
}

export function contextQuery(id: string, conversation: string | null = null) {
  return queryOptions({
    queryKey: ["agent", id, "context", conversation],
    queryFn: ({ signal }) => fetchContext(id, conversation, signal),
    staleTime: 30_000,
  });
}
