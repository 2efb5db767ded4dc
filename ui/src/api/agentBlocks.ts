/* Memory blocks and who wrote them. */
import { queryOptions } from "@tanstack/react-query";
import { ask } from "@/api/client";

export interface Block {
  id: string;
  label: string;
  value: string;
  limit: number;
  description: string | null;
  read_only: boolean;
  revision: number;
}

export interface Revision {
  revision: number;
  action: string;
  created_at: string;
  author: { kind: string; id: string | null };
  run_id: string | null;
  step_id: string | null;
  tool_name: string | null;
  chars_added: number;
}

/** Refused with a 409 that names the newest revision if somebody wrote about the same lines since. */
export function saveBlock(id: string, value: string, base: number): Promise<Block> {
  return ask("PATCH", `/v1/blocks/${id}`, { body: { value, base_revision: base } });
}

export function getBlock(id: string): Promise<Block> {
  return ask("GET", `/v1/blocks/${id}`);
}

export function undoBlock(id: string): Promise<unknown> {
  return ask("POST", `/v1/blocks/${id}/undo`);
}

export function newestRevisionQuery(block: Block) {
  return queryOptions({
    queryKey: ["block", block.id, "newest", block.revision],
    queryFn: async () => (await ask<Revision[]>("GET", `/v1/blocks/${block.id}/revisions`, { query: { limit: 1 } }))[0] ?? null,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

const LOOKED_BACK = 6;

/** Which revision the compiled prompt still holds; null if it is older than we care to look. */
export function staleRevisionQuery(block: Block, prompt: string) {
  return queryOptions({
    queryKey: ["block", block.id, "stale", block.revision, prompt.length],
    queryFn: async () => {
      for (let n = block.revision - 1; n > 0 && n >= block.revision - LOOKED_BACK; n--) {
        const { after } = await ask<{ after: { value?: string } | string | null }>("GET", `/v1/blocks/${block.id}/revisions/${n}`);
        const text = typeof after === "string" ? after : (after?.value ?? "");
        if (holds(prompt, text)) return n;
      }
      return null;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Whether a compiled prompt has this text as the value of a block. */
export function holds(prompt: string, value: string): boolean {
  return prompt.includes(`<value>\n${value}\n</value>`) || (value.length > 40 && prompt.includes(value.trim()));
}

export async function addBlock(agentId: string, block: { label: string; value: string; description: string | null }): Promise<void> {
  const made = await ask<Block>("POST", "/v1/blocks/", { body: { ...block, limit: 5000 } });
  await ask("PATCH", `/v1/agents/${agentId}/core-memory/blocks/attach/${made.id}`);
}

export function detachBlock(agentId: string, blockId: string): Promise<unknown> {
  return ask("PATCH", `/v1/agents/${agentId}/core-memory/blocks/detach/${blockId}`);
}

export function recompile(agentId: string, conversation: string | null): Promise<unknown> {
  if (conversation) return ask("POST", `/v1/conversations/${conversation}/recompile`);
  return ask("POST", `/v1/agents/${agentId}/recompile`, { query: { update_timestamp: true } });
}
