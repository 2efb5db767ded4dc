import type { Role } from "@/api/access";

export const ROLE_WORDS: Record<Role, string> = { read_only: "read", user: "read and write", admin: "do everything" };

const ORDER: readonly Role[] = ["read_only", "user", "admin"];

/** Nobody hands on more than he has. */
export function rolesUpTo(most: Role): [Role, string][] {
  return ORDER.slice(0, ORDER.indexOf(most) + 1).map((role) => [role, ROLE_WORDS[role]]);
}
