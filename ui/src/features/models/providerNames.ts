const NAMES: Record<string, string> = {
  anthropic: "Anthropic", azure: "Azure", bedrock: "Bedrock", cerebras: "Cerebras", deepseek: "DeepSeek", fireworks: "Fireworks", google_ai: "Google", google_vertex: "Google Vertex", groq: "Groq",
  llamacpp: "llama.cpp", lmstudio_openai: "LM Studio", local: "Built in", mistral: "Mistral", ollama: "Ollama", openai: "OpenAI", openrouter: "OpenRouter", sglang: "SGLang", together: "Together",
  vllm: "vLLM", xai: "xAI", zai: "Z.ai", zai_coding: "Z.ai coding",
};

export function titleOf(provider: string): string {
  return NAMES[provider] ?? provider;
}

/** Those that can be added here, the usual ones first. An address makes a provider of the same kind elsewhere. */
export const ADDABLE = ["openai", "anthropic", "google_ai", "openrouter", "groq", "deepseek", "mistral", "together", "xai", "zai", "cerebras", "fireworks", "ollama", "lmstudio_openai", "vllm", "llamacpp", "sglang"].map((name) => [name, titleOf(name)] as const);
export const NEEDS_NO_KEY = new Set(["ollama", "lmstudio_openai", "vllm", "llamacpp", "sglang"]);
