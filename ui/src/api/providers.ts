/* Providers, what their models cost, and what a model can do when it is asked. */
import { queryOptions } from "@tanstack/react-query";
import { ask } from "@/api/client";

export interface CatalogueModel {
  handle: string;
  name: string;
  display_name: string | null;
  provider_type: string;
  provider_name: string;
  provider_category: "base" | "byok";
  model_endpoint: string | null;
  max_context_window: number;
}

export interface Provider {
  id: string;
  name: string;
  provider_type: string;
  base_url: string | null;
  last_synced: string | null;
  created_at: string;
}

export interface Price {
  prompt: number;
  completion: number;
  cache_read: number;
  cache_write: number;
}

export interface ProbeResult {
  handle: string;
  tasks: { task: string; passed: boolean; detail: string; seconds: number }[];
  first_token_s: number | null;
  tokens_per_s: number | null;
  suits: { agent_type: string | null; advice: string };
}

export interface ProviderGiven {
  name: string;
  provider_type: string;
  api_key: string;
  base_url?: string | null;
}

export const catalogueQuery = queryOptions({ queryKey: ["models", "catalogue"], queryFn: () => ask<CatalogueModel[]>("GET", "/v1/models/"), staleTime: 30_000 });
export const providersQuery = queryOptions({ queryKey: ["providers"], queryFn: () => ask<Provider[]>("GET", "/v1/providers/", { query: { limit: 200, order: "asc" } }) });
export const pricesQuery = queryOptions({ queryKey: ["models", "prices"], queryFn: () => ask<Record<string, Price>>("GET", "/v1/models/prices"), staleTime: 3_600_000 });

export function addProvider(given: ProviderGiven): Promise<Provider> {
  return ask("POST", "/v1/providers/", { body: given });
}

export function checkAccess(given: Omit<ProviderGiven, "name">): Promise<{ message: string }> {
  return ask("POST", "/v1/providers/check", { body: given });
}

export function checkProvider(id: string): Promise<{ message: string }> {
  return ask("POST", `/v1/providers/${id}/check`);
}

export function replaceKey(id: string, api_key: string): Promise<Provider> {
  return ask("PATCH", `/v1/providers/${id}`, { body: { api_key } });
}

export function deleteProvider(id: string): Promise<unknown> {
  return ask("DELETE", `/v1/providers/${id}`);
}

export function probeModel(handle: string): Promise<ProbeResult> {
  return ask("POST", `/v1/models/${handle}/probe`);
}
