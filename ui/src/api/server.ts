/* What the server is. */
import { queryOptions } from "@tanstack/react-query";
import { ask } from "@/api/client";

export interface ServerState {
  version: string;
  started_at: string;
  database: { kind: "sqlite" | "postgresql"; description: string };
  default_model: string | null;
  default_embedding: string | null;
  sandbox: { level: string; reason: string | null };
  has_password: boolean;
  traces: "off" | "errors" | "all";
  trace_days: number;
  revisions_kept: number;
}

export const serverQuery = queryOptions({
  queryKey: ["server"],
  queryFn: () => ask<ServerState>("GET", "/v1/server/"),
  staleTime: 60_000,
});

const LEVELS: Record<string, string> = {
  namespaces: "own user, process, network and file namespaces",
  landlock: "Landlock: no way to the server's files",
  limits: "limits on time, memory and files only",
};

/** What holds the code in when it runs, in words. */
export function sandboxWords(level: string): string {
  return LEVELS[level] ?? level;
}
