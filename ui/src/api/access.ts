/* Who one is here, and the keys one has. */
import { queryOptions } from "@tanstack/react-query";
import { ask } from "@/api/client";
import { signInNeeded } from "@/api/connection";

export type Role = "read_only" | "user" | "admin";

export interface Session {
  user_id: string;
  organization_id: string;
  role: Role;
  scope: { type: string; id: string }[];
  is_session: boolean;
  expires_at: string | null;
}

export interface ApiKey {
  id: string;
  name: string;
  role: Role;
  scope: { type: string; id: string } | null;
  hint: string;
  user_id: string;
  requests_per_minute: number | null;
  expires_at: string | null;
  last_used_at: string | null;
  created_at: string;
}

export interface NewKey {
  name: string;
  role: Role;
  scope: { type: "agent" | "project"; id: string } | null;
  expires_at: string | null;
  requests_per_minute: number | null;
}

export const sessionQuery = queryOptions({ queryKey: ["session"], queryFn: () => ask<Session>("GET", "/v1/session/"), staleTime: 60_000 });

export const keysQuery = queryOptions({ queryKey: ["keys"], queryFn: () => ask<ApiKey[]>("GET", "/v1/keys/", { query: { limit: 1000 } }) });

/** With the key itself, this once. */
export function createKey(given: NewKey): Promise<ApiKey & { key: string }> {
  return ask("POST", "/v1/keys/", { body: given });
}

export function revokeKey(id: string): Promise<unknown> {
  return ask("DELETE", `/v1/keys/${id}`);
}

export async function signOut(): Promise<void> {
  await ask("DELETE", "/v1/session/");
  signInNeeded();
}

/** Whether keys can be looked at: not with a key for one project or agent. */
export function seesKeys(session: Session): boolean {
  return session.scope.every((each) => each.type === "organization");
}
