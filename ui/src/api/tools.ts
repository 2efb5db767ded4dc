/* Tools, their schemas and trial runs, and MCP servers. */
import { queryOptions } from "@tanstack/react-query";
import type { Agent } from "@/api/agents";
import { ask, send } from "@/api/client";
import { readEvents } from "@/lib/sse";

export interface Package {
  name: string;
  version: string | null;
}

export interface JsonSchema {
  name?: string;
  description?: string;
  parameters?: { type: string; properties?: Record<string, { type?: string; description?: string; enum?: string[]; default?: unknown }>; required?: string[] };
}

export interface Tool {
  id: string;
  name: string;
  tool_type: string;
  description: string | null;
  source_type: string | null;
  source_code: string | null;
  json_schema: JsonSchema;
  tags: string[];
  return_char_limit: number;
  pip_requirements: Package[] | null;
  npm_requirements: Package[] | null;
  default_requires_approval: boolean | null;
  enable_parallel_execution: boolean;
  metadata_: { mcp?: { server_id?: string; server_name?: string } } | null;
}

export type ToolFields = Partial<Pick<Tool, "source_code" | "source_type" | "json_schema" | "tags" | "description" | "return_char_limit" | "pip_requirements" | "npm_requirements" | "default_requires_approval" | "enable_parallel_execution">>;

export const toolsQuery = queryOptions({
  queryKey: ["tools"],
  queryFn: () => ask<Tool[]>("GET", "/v1/tools/", { query: { limit: 1000, order: "asc" } }),
});

export function toolUsersQuery(id: string) {
  return queryOptions({ queryKey: ["tools", id, "agents"], queryFn: () => ask<Agent[]>("GET", "/v1/agents/", { query: { tool_id: id, limit: 100 } }) });
}

export function isYours(tool: Tool): boolean {
  return tool.tool_type === "custom";
}

export function createTool(given: ToolFields): Promise<Tool> {
  return ask("POST", "/v1/tools/", { body: given });
}

export function changeTool(id: string, changes: ToolFields): Promise<Tool> {
  return ask("PATCH", `/v1/tools/${id}`, { body: changes });
}

export function deleteTool(id: string): Promise<unknown> {
  return ask("DELETE", `/v1/tools/${id}`);
}

export function generateSchema(code: string, language: string, signal?: AbortSignal): Promise<JsonSchema> {
  return ask("POST", "/v1/tools/generate-schema", { body: { code, source_type: language }, signal });
}

export interface ToolResult {
  tool_return: string;
  status: "success" | "error";
  stdout: string[] | null;
  stderr: string[] | null;
}

export interface Trial {
  source_code: string;
  source_type: string;
  name: string | null;
  args: Record<string, unknown>;
  pip_requirements: Package[] | null;
  npm_requirements: Package[] | null;
}

/** Runs code that need not be saved, with the secrets of an agent if one is chosen. Nothing is written to its history. */
export async function tryTool(trial: Trial, agentId: string | null): Promise<ToolResult> {
  const secrets = agentId ? (await ask<Agent>("GET", `/v1/agents/${agentId}`, { query: { include: ["agent.secrets"] } })).secrets : null;
  const env_vars = Object.fromEntries((secrets ?? []).map((each) => [each.key, each.value]));
  return ask("POST", "/v1/tools/run", { body: { ...trial, env_vars } });
}

export function attachTool(agentId: string, toolId: string): Promise<unknown> {
  return ask("PATCH", `/v1/agents/${agentId}/tools/attach/${toolId}`);
}

export interface McpServer {
  id: string;
  server_name: string;
  mcp_server_type: "stdio" | "sse" | "streamable_http";
  command?: string;
  args?: string[];
  env?: Record<string, string> | null;
  server_url?: string;
  auth_header?: string | null;
  auth_token?: string | null;
}

export const mcpQuery = queryOptions({ queryKey: ["mcp"], queryFn: () => ask<McpServer[]>("GET", "/v1/mcp-servers/") });

export function addMcpServer(name: string, config: Record<string, unknown>): Promise<McpServer> {
  return ask("POST", "/v1/mcp-servers/", { body: { server_name: name, config } });
}

export function deleteMcpServer(id: string): Promise<unknown> {
  return ask("DELETE", `/v1/mcp-servers/${id}`);
}

export interface ToolChanges {
  added: string[];
  updated: string[];
  deleted: string[];
  refused?: string[];
}

export function syncMcpServer(id: string): Promise<ToolChanges> {
  return ask("PATCH", `/v1/mcp-servers/${id}/refresh`);
}

export interface ConnectEvent {
  event: "connection_attempt" | "oauth_required" | "authorization_url" | "waiting_for_auth" | "success" | "error";
  message?: string;
  url?: string;
  added?: string[];
  updated?: string[];
}

export async function* connectMcpServer(id: string, signal: AbortSignal): AsyncGenerator<ConnectEvent> {
  for await (const each of readEvents(await send("GET", `/v1/mcp-servers/connect/${id}`, { signal }))) {
    if (each.data !== "[DONE]") yield JSON.parse(each.data) as ConnectEvent;
  }
}

export async function tryMcpTool(serverId: string, toolId: string, args: Record<string, unknown>): Promise<ToolResult> {
  const body = await ask<{ status: "success" | "error"; func_return: string }>("POST", `/v1/mcp-servers/${serverId}/tools/${toolId}/run`, { body: { args } });
  return { tool_return: body.func_return, status: body.status, stdout: null, stderr: null };
}
