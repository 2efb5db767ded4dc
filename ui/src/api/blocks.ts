/* Blocks, who holds them, and their history. */
import { queryOptions } from "@tanstack/react-query";
import { ask } from "@/api/client";
import type { Agent } from "@/api/agents";

export interface Block {
  id: string;
  label: string;
  value: string;
  limit: number;
  description: string | null;
  read_only: boolean;
  revision: number;
  tags?: string[];
}

export interface Revision {
  block_id: string;
  revision: number;
  action: "create" | "update" | "restore" | "delete" | "attach" | "detach" | string;
  restored_revision: number | null;
  created_at: string;
  author: { kind: string; id: string | null };
  run_id: string | null;
  step_id: string | null;
  message_id: string | null;
  tool_name: string | null;
  reason: string | null;
  fields: string[];
  chars: number;
  chars_added: number;
}

export interface RevisionDetail extends Revision {
  against: number;
  before: { value: string };
  after: { value: string };
}

export interface Provenance {
  agent_id: string | null;
  conversation_id: string | null;
  messages: { id: string; message_type: string; date: string; reasoning?: string; content?: unknown; tool_call?: { name?: string; arguments?: string } }[];
}

export type BlockScope = "all" | "shared" | "loose";

export function listBlocks(scope: BlockScope, text: string): Promise<Block[]> {
  const held = { all: {}, shared: { connected_to_agents_count_gt: 1 }, loose: { connected_to_agents_count_eq: ["0"] } }[scope];
  return ask("GET", "/v1/blocks/", { query: { ...held, label_search: text || null, limit: 200, order: "desc" } });
}

export function blockQuery(id: string) {
  return queryOptions({ queryKey: ["block", id], queryFn: () => ask<Block>("GET", `/v1/blocks/${id}`) });
}

export function holdersQuery(id: string) {
  return queryOptions({ queryKey: ["block", id, "agents"], queryFn: () => ask<Agent[]>("GET", `/v1/blocks/${id}/agents`), staleTime: 30_000 });
}

export function createBlock(given: { label: string; value: string; description?: string | null }): Promise<Block> {
  return ask("POST", "/v1/blocks/", { body: given });
}

export function changeBlock(id: string, changes: Partial<Block> & { base_revision?: number }): Promise<Block> {
  return ask("PATCH", `/v1/blocks/${id}`, { body: changes });
}

export function deleteBlock(id: string): Promise<unknown> {
  return ask("DELETE", `/v1/blocks/${id}`);
}

export function attachBlock(agentId: string, id: string): Promise<unknown> {
  return ask("PATCH", `/v1/agents/${agentId}/core-memory/blocks/attach/${id}`);
}

export function detachBlock(agentId: string, id: string): Promise<unknown> {
  return ask("PATCH", `/v1/agents/${agentId}/core-memory/blocks/detach/${id}`);
}

export function revisionsQuery(id: string) {
  return queryOptions({ queryKey: ["block", id, "revisions"], queryFn: () => ask<Revision[]>("GET", `/v1/blocks/${id}/revisions`, { query: { limit: 1000 } }) });
}

export function revisionQuery(id: string, number: number, against: number | null) {
  return queryOptions({
    queryKey: ["block", id, "revisions", number, against],
    queryFn: () => ask<RevisionDetail>("GET", `/v1/blocks/${id}/revisions/${number}`, { query: { against } }),
    placeholderData: (old: RevisionDetail | undefined) => old,
  });
}

export function provenanceQuery(id: string, number: number) {
  return queryOptions({
    queryKey: ["block", id, "revisions", number, "provenance"],
    queryFn: () => ask<Provenance>("GET", `/v1/blocks/${id}/revisions/${number}/provenance`),
  });
}

export function restoreRevision(id: string, number: number): Promise<Block> {
  return ask("POST", `/v1/blocks/${id}/revisions/${number}/restore`);
}

export function undoRevision(id: string, number: number): Promise<Block> {
  return ask("POST", `/v1/blocks/${id}/revisions/${number}/undo`);
}

export function revisionsOfRun(runId: string) {
  return queryOptions({ queryKey: ["run", runId, "revisions"], queryFn: () => ask<Revision[]>("GET", "/v1/revisions/", { query: { run_id: runId } }) });
}
