import { queryOptions } from "@tanstack/react-query";
import { ask } from "@/api/client";

export interface ModelInfo {
  handle: string;
  name: string;
  display_name: string | null;
  provider_type: string;
  provider_name: string;
  max_context_window: number;
  context_window: number;
  max_tokens: number | null;
}

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: () => ask<ModelInfo[]>("GET", "/v1/models/"),
  staleTime: 60_000,
});

export function isEmbedded(handle: string): boolean {
  return handle.startsWith("local/");
}

const ON_THIS_MACHINE = ["ollama", "lmstudio_openai", "llamacpp", "vllm", "sglang"];
const LIKED = [/claude-(sonnet|opus)-4/, /claude-.*sonnet/, /gpt-5(\.\d)?$/, /gemini-.*-pro$/, /gpt-4\.1$/, /gpt-4o$/, /mini|flash|haiku/];

/** The model a newcomer should start with: a capable one, else what runs here, else the small one in the box. */
export function bestModel(models: readonly ModelInfo[]): ModelInfo | undefined {
  const others = models.filter((each) => !isEmbedded(each.handle));
  for (const pattern of LIKED) {
    const found = others.find((each) => pattern.test(each.handle));
    if (found) return found;
  }
  return others.find((each) => ON_THIS_MACHINE.includes(each.provider_type)) ?? others[0] ?? models[0];
}
