/* Messages as the wire has them. One shape for whole messages and for the pieces of a stream. */
import { ask, send } from "@/api/client";

export interface WireCall {
  name?: string | null;
  arguments?: string | null;
  tool_call_id: string;
}

export interface WireReturn {
  tool_call_id: string;
  tool_return: unknown;
  status: "success" | "error";
  stdout?: string[] | null;
  stderr?: string[] | null;
}

export interface WireApproval {
  type: string;
  tool_call_id: string;
  approve?: boolean;
  reason?: string | null;
}

export interface ContentPart {
  type: string;
  text?: string;
  source?: { type: string; media_type?: string; data?: string; url?: string };
}

export interface WireMessage {
  id: string;
  date?: string;
  message_type: string;
  otid?: string | null;
  step_id?: string | null;
  run_id?: string | null;
  seq_id?: number | null;
  name?: string | null;
  content?: string | ContentPart[];
  reasoning?: string;
  state?: string;
  tool_call?: WireCall;
  tool_calls?: WireCall[] | WireCall;
  tool_return?: unknown;
  tool_call_id?: string;
  status?: "success" | "error";
  stdout?: string[] | null;
  stderr?: string[] | null;
  tool_returns?: WireReturn[];
  approvals?: WireApproval[] | null;
  summary?: string;
  compaction_stats?: { messages_count_before?: number; messages_count_after?: number } | null;
  stop_reason?: string;
  error_type?: string;
  message?: string;
  detail?: string;
}

/** An agent's own history ("default") or one of its conversations. */
export interface Place {
  agentId: string;
  conversation: string | null;
}

/** The newest before a message, oldest first. The two routes of the API differ in order and in what a cursor means. */
export async function listMessages(place: Place, before: string | null, limit: number, signal?: AbortSignal): Promise<WireMessage[]> {
  const query = { limit, order: "desc", include_err: true };
  if (place.conversation) {
    const found = await ask<WireMessage[]>("GET", `/v1/conversations/${place.conversation}/messages`, { query: { ...query, after: before }, signal });
    return found.toReversed();
  }
  return ask("GET", `/v1/agents/${place.agentId}/messages`, { query: { ...query, before, conversation_id: "default" }, signal });
}

/** Starts a run that goes on whatever becomes of this page, and gives its stream. */
export function startRun(place: Place, messages: readonly unknown[], signal: AbortSignal): Promise<Response> {
  const body = { messages, streaming: true, stream_tokens: true, background: true, include_compaction_messages: true };
  const path = place.conversation ? `/v1/conversations/${place.conversation}/messages` : `/v1/agents/${place.agentId}/messages`;
  return send("POST", path, { body, signal });
}

export function followRun(runId: string, after: number, signal: AbortSignal): Promise<Response> {
  return send("POST", `/v1/runs/${runId}/stream`, { body: { starting_after: after }, signal });
}

export interface RunInfo {
  id: string;
  status: string;
  background: boolean | null;
  conversation_id: string | null;
  created_at: string;
}

/** The runs at work here, oldest first. */
export async function activeRuns(place: Place): Promise<RunInfo[]> {
  const found = await ask<RunInfo[]>("GET", "/v1/runs/", { query: { agent_id: place.agentId, active: true } });
  return found.filter((run) => run.background && (run.conversation_id ?? null) === place.conversation).toReversed();
}

/** Ends one run, so that what was sent behind it gets its turn; without one, what waits for an answer. */
export function cancelRun(place: Place, runId: string | undefined): Promise<unknown> {
  if (place.conversation) return ask("POST", `/v1/conversations/${place.conversation}/cancel`);
  return ask("POST", `/v1/agents/${place.agentId}/messages/cancel`, runId ? { body: { run_ids: [runId] } } : {});
}

export interface Conversation {
  id: string;
  summary: string | null;
  created_at: string;
  last_message_at: string | null;
  in_context_message_ids: string[];
}

export function listConversations(agentId: string): Promise<Conversation[]> {
  return ask("GET", "/v1/conversations/", { query: { agent_id: agentId, limit: 100, order_by: "last_message_at" } });
}

export function createConversation(agentId: string, summary: string | null): Promise<Conversation> {
  return ask("POST", "/v1/conversations/", { query: { agent_id: agentId }, body: { summary } });
}

export function renameConversation(id: string, summary: string): Promise<Conversation> {
  return ask("PATCH", `/v1/conversations/${id}`, { body: { summary } });
}

export function deleteConversation(id: string): Promise<unknown> {
  return ask("DELETE", `/v1/conversations/${id}`);
}

export function forkConversation(place: Place, messageId: string): Promise<Conversation> {
  const from = place.conversation ?? "default";
  const query = { message_id: messageId, ...(place.conversation ? {} : { agent_id: place.agentId }) };
  return ask("POST", `/v1/conversations/${from}/fork`, { query });
}
