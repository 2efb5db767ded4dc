/* What an agent can look up: passages of its archival memory, and everything that was said. */
import { ask } from "@/api/client";

export interface Hit {
  id: string;
  text: string;
  date: string;
  score: number;
  /** How much of the score comes from words; the rest is meaning. */
  wordShare: number | null;
  isByMeaning: boolean;
}

export interface Passage {
  id: string;
  text: string;
  created_at: string;
  tags: string[] | null;
}

export interface PassageHit extends Hit {
  tags: string[];
}

interface WirePassageHit {
  id: string;
  timestamp: string;
  content: string;
  tags: string[];
  score: number;
  vector_rank: number | null;
  word_share: number | null;
}

export function listPassages(agentId: string, after: string | null): Promise<Passage[]> {
  return ask("GET", `/v1/agents/${agentId}/archival-memory`, { query: { ascending: false, limit: 50, after } });
}

export async function searchPassages(agentId: string, query: string, signal?: AbortSignal): Promise<PassageHit[]> {
  const { results } = await ask<{ results: WirePassageHit[] }>("GET", `/v1/agents/${agentId}/archival-memory/search`, { query: { query, top_k: 20 }, signal });
  return results.map((each) => ({ id: each.id, text: each.content, date: each.timestamp, score: each.score, wordShare: each.word_share, isByMeaning: each.vector_rank !== null, tags: each.tags }));
}

export function insertPassage(agentId: string, text: string, tags: string[]): Promise<Passage[]> {
  return ask("POST", `/v1/agents/${agentId}/archival-memory`, { body: { text, tags: tags.length ? tags : null } });
}

export function deletePassage(agentId: string, id: string): Promise<unknown> {
  return ask("DELETE", `/v1/agents/${agentId}/archival-memory/${id}`);
}

export function restorePassage(id: string): Promise<unknown> {
  return ask("POST", `/v1/passages/${id}/restore`);
}

export interface MessageHit extends Hit {
  role: "user" | "assistant" | "tool";
  conversation: string | null;
  snippet: string;
}

export type Speaker = "anyone" | "user" | "assistant";

interface WireMessageHit {
  message_id: string;
  message_type: string;
  content: string;
  conversation_id: string | null;
  created_at: string;
  score: number;
  vector_rank: number | null;
  word_share: number | null;
  snippet: string;
}

export async function searchMessages(agentId: string, query: string, speaker: Speaker, signal?: AbortSignal): Promise<MessageHit[]> {
  const found = await ask<WireMessageHit[]>("POST", "/v1/messages/search", { body: { query, agent_id: agentId, limit: 30 }, signal });
  return found
    .map((each) => ({
      id: each.message_id,
      text: each.content,
      snippet: each.snippet,
      date: each.created_at,
      score: each.score,
      wordShare: each.word_share,
      isByMeaning: each.vector_rank !== null,
      role: each.message_type.replace("_message", "") as MessageHit["role"],
      conversation: each.conversation_id,
    }))
    .filter((each) => speaker === "anyone" || each.role === speaker);
}

export interface Neighbour {
  id: string;
  role: "user" | "assistant";
  text: string;
}

/** What was said right after, by somebody. */
export async function nextSaid(agentId: string, hit: Pick<MessageHit, "id" | "conversation">): Promise<Neighbour | null> {
  const query = { after: hit.id, limit: 4, order: "asc" };
  const found = hit.conversation
    ? await ask<NeighbourWire[]>("GET", `/v1/conversations/${hit.conversation}/messages`, { query })
    : await ask<NeighbourWire[]>("GET", `/v1/agents/${agentId}/messages`, { query: { ...query, conversation_id: "default" } });
  for (const each of found) {
    const role = each.message_type.replace("_message", "");
    if ((role === "user" || role === "assistant") && each.id !== hit.id && typeof each.content === "string") return { id: each.id, role, text: each.content };
  }
  return null;
}

interface NeighbourWire {
  id: string;
  message_type: string;
  content?: unknown;
}
