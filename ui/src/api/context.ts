/* The overview of a context window, as the seven sections that the interface draws. */
import type { ContextOverview } from "@/api/agents";

export interface SectionSizes {
  system: number;
  tools: number;
  blocks: number;
  files: number;
  summary: number;
  messages: number;
  free: number;
}

export function sectionsOf(overview: ContextOverview): SectionSizes {
  const system = overview.num_tokens_system + overview.num_tokens_tool_usage_rules + overview.num_tokens_external_memory_summary;
  const files = overview.num_tokens_directories + overview.num_tokens_memory_filesystem;
  return {
    system,
    tools: overview.num_tokens_functions_definitions,
    blocks: overview.num_tokens_core_memory,
    files,
    summary: overview.num_tokens_summary_memory,
    messages: overview.num_tokens_messages,
    free: Math.max(0, overview.context_window_size_max - overview.context_window_size_current),
  };
}
