/* Tool rules in words. Pure. */

export interface ToolRule {
  type: string;
  tool_name: string;
  children?: string[] | null;
  max_count_limit?: number | null;
  child_output_mapping?: Record<string, string> | null;
}

export interface RuleTag {
  text: string;
  tone: "line" | "warn";
}

export function tagsOf(tool: string, rules: readonly ToolRule[]): RuleTag[] {
  const tags: RuleTag[] = [];
  const say = (text: string, tone: RuleTag["tone"] = "line") => tags.push({ text, tone });
  for (const rule of rules) {
    if (rule.type === "constrain_child_tools" && rule.children?.includes(tool)) say(`after ${rule.tool_name}`);
    if (rule.tool_name !== tool) continue;
    switch (rule.type) {
      case "requires_approval":
        say("asks first", "warn");
        break;
      case "run_first":
        say("runs first");
        break;
      case "exit_loop":
        say("ends the turn");
        break;
      case "required_before_exit":
        say("must run");
        break;
      case "max_count_per_step":
        say(`max ${rule.max_count_limit} a step`);
        break;
      case "parent_last_tool":
        say(`before ${rule.children?.join(", ")}`);
        break;
      case "conditional":
        say("leads on by result");
        break;
    }
  }
  return tags;
}

const BUILT_IN = new Set(["letta_core", "letta_memory_core", "letta_sleeptime_core", "letta_builtin", "letta_multi_agent_core", "letta_files_core", "letta_voice_sleeptime_core"]);

/** Built in, yours, or of an MCP server. */
export function originOf(tool: { tool_type?: string | null; tags?: string[] | null }): string {
  if (tool.tool_type && BUILT_IN.has(tool.tool_type)) return "Built in";
  if (tool.tool_type === "external_mcp") return `MCP: ${tool.tags?.find((tag) => tag.startsWith("mcp:"))?.slice(4) ?? "server"}`;
  return "Yours";
}
