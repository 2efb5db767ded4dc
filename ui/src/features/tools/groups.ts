/* Tools by where they come from. */
import type { McpServer, Tool } from "@/api/tools";
import type { Glyph } from "@/components/Icon";

export interface ToolGroup {
  key: string;
  title: string;
  server?: McpServer;
  tools: Tool[];
}

const BUILT_IN: Record<string, string> = {
  letta_core: "Built in: memory and messages",
  letta_memory_core: "Built in: memory and messages",
  letta_sleeptime_core: "Built in: memory and messages",
  letta_voice_sleeptime_core: "Built in: memory and messages",
  letta_multi_agent_core: "Built in: other agents",
  letta_files_core: "Built in: files",
  letta_builtin: "Built in: code and web",
};

export function serverNameOf(tool: Tool): string | null {
  if (tool.tool_type !== "external_mcp") return null;
  return tool.metadata_?.mcp?.server_name ?? tool.tags.find((each) => each.startsWith("mcp:"))?.slice(4) ?? "unknown";
}

export function serverIdOf(tool: Tool, servers: readonly McpServer[]): string | undefined {
  return tool.metadata_?.mcp?.server_id ?? servers.find((each) => each.server_name === serverNameOf(tool))?.id;
}

export function groupTools(tools: readonly Tool[], servers: readonly McpServer[], query: string): ToolGroup[] {
  const wanted = query.trim().toLowerCase();
  const shown = wanted ? tools.filter((each) => each.name.toLowerCase().includes(wanted) || each.description?.toLowerCase().includes(wanted)) : tools;
  const groups: ToolGroup[] = [{ key: "yours", title: "Yours", tools: [] }];
  for (const server of servers) groups.push({ key: server.id, title: `MCP: ${server.server_name}`, server, tools: [] });
  const find = (key: string, title: string) => {
    let group = groups.find((each) => each.key === key);
    if (!group) groups.push((group = { key, title, tools: [] }));
    return group;
  };
  for (const tool of [...shown].sort((a, b) => a.name.localeCompare(b.name))) {
    const serverName = serverNameOf(tool);
    if (serverName) find(serverIdOf(tool, servers) ?? serverName, `MCP: ${serverName}`).tools.push(tool);
    else if (BUILT_IN[tool.tool_type]) find(BUILT_IN[tool.tool_type] ?? "", BUILT_IN[tool.tool_type] ?? "").tools.push(tool);
    else find("yours", "Yours").tools.push(tool);
  }
  return groups.filter((each) => each.tools.length || (!wanted && (each.server || each.key === "yours")));
}

export function glyphFor(tool: Tool): Glyph {
  if (tool.tool_type === "external_mcp") return "plug";
  if (tool.name.startsWith("archival")) return "archive";
  if (/^(core_)?memory/.test(tool.name)) return "block";
  if (tool.name === "conversation_search") return "recall";
  if (tool.tool_type === "letta_files_core") return "file";
  if (tool.name === "fetch_webpage" || tool.name === "web_search") return "out";
  if (tool.tool_type === "letta_multi_agent_core" || tool.name === "send_message") return "chat";
  return "tool";
}

export const PYTHON_START = `def tool_name(query: str) -> str:
    """Say in one sentence what the tool is for.

    Args:
        query: Say what the model is to give here.
    """
    return query
`;

export const SCRIPT_START = `/**
 * Say in one sentence what the tool is for.
 * @param query - Say what the model is to give here.
 */
export function tool_name(query: string): string {
  return query;
}
`;
