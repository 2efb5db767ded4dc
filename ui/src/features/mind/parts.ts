/* What each section of the context window consists of. Pure. Tokens of parts are shares by length, so "about". */
import type { ContextOverview } from "@/api/agents";
import type { SectionName } from "@/components/ContextBar";

export interface Part {
  name: string;
  tokens: number;
}

export function partsOf(section: SectionName, overview: ContextOverview, blocks: readonly { label: string; value: string; description: string | null }[], tokens: number): Part[] {
  switch (section) {
    case "system":
      return [
        { name: "Instructions", tokens: overview.num_tokens_system },
        { name: "Tool rules", tokens: overview.num_tokens_tool_usage_rules },
        { name: "About memory", tokens: overview.num_tokens_external_memory_summary },
      ].filter((part) => part.tokens > 0);
    case "tools":
      return shares(overview.functions_definitions.map((each) => [each.function.name, JSON.stringify(each).length] as const), tokens);
    case "blocks":
      return shares(blocks.map((each) => [each.label, each.value.length + (each.description?.length ?? 0) + 80] as const), tokens);
    case "messages": {
      const lengths = new Map<string, number>();
      for (const message of overview.messages.slice(1)) lengths.set(message.role, (lengths.get(message.role) ?? 0) + JSON.stringify(message.content).length + JSON.stringify(message.tool_calls ?? "").length);
      return shares([...lengths].map(([role, length]) => [ROLES[role] ?? role, length] as const), tokens);
    }
    default:
      return [];
  }
}

const ROLES: Record<string, string> = { user: "You", assistant: "The agent", tool: "Tool returns", approval: "Approvals", summary: "Summary" };

function shares(lengths: readonly (readonly [string, number])[], tokens: number): Part[] {
  const all = lengths.reduce((sum, [, length]) => sum + length, 0) || 1;
  return lengths.map(([name, length]) => ({ name, tokens: Math.round((tokens * length) / all) }));
}

/** The very text of a section, for reading. */
export function textsOf(section: SectionName, overview: ContextOverview): { title: string; text: string }[] {
  const texts: Record<SectionName, [string, string | null][]> = {
    system: [["Instructions", overview.system_prompt], ["Tool rules", overview.tool_usage_rules], ["About memory", overview.external_memory_summary]],
    tools: overview.functions_definitions.map((each) => [each.function.name, JSON.stringify(each.function, null, 2)]),
    blocks: [["Memory blocks, as compiled", overview.core_memory]],
    files: [["Folders", overview.directories], ["Memory files", overview.memory_filesystem]],
    summary: [["Summary of earlier messages", overview.summary_memory]],
    messages: overview.messages.slice(1).map((message) => [ROLES[message.role] ?? message.role, [...message.content.map((part) => part.text ?? `(${part.type})`), ...(message.tool_calls ?? []).map((call) => `${call.function.name}(${call.function.arguments})`)].join("\n")]),
    free: [],
  };
  return texts[section].flatMap(([title, text]) => (text ? [{ title, text }] : []));
}
