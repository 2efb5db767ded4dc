/* Who wrote a revision, in words and a glyph. */
import type { Revision } from "@/api/blocks";
import type { Glyph } from "@/components/Icon";

export type AuthorGroup = "agent" | "sleep" | "you" | "other";

export const GROUPS: readonly (readonly [AuthorGroup, string, Glyph])[] = [
  ["agent", "Agent", "agent"],
  ["sleep", "Sleep", "moon"],
  ["you", "You", "user"],
  ["other", "API", "key"],
];

export function groupOf({ author }: Revision): AuthorGroup {
  if (author.kind === "sleeptime" || author.kind === "capture") return "sleep";
  if (author.kind === "agent") return "agent";
  return author.kind === "user" ? "you" : "other";
}

export function glyphOf(revision: Revision): Glyph {
  if (revision.restored_revision !== null || revision.action === "restore" || revision.action === "undo") return "undo";
  return GROUPS.find(([name]) => name === groupOf(revision))?.[2] ?? "key";
}

/** `nameOf` tells an agent's name, as far as it is known. */
export function authorOf(revision: Revision, nameOf: (id: string) => string | undefined): string {
  const { author } = revision;
  const name = author.id ? nameOf(author.id) : undefined;
  const who = name ?? { agent: "An agent", user: "You", tool: "You, by a tool", import: "An import", sleeptime: "A sleep-time helper", capture: "A helper that takes notes" }[author.kind] ?? author.kind;
  if (revision.restored_revision !== null) return `${who} ${revision.action === "undo" ? "undid" : "restored"} r${revision.restored_revision}`;
  return who;
}

const ACTIONS: Record<string, string> = { create: "Created", delete: "Deleted", drop: "Let go of", restore: "Restored", undo: "Took a write back" };

export function reasonOf(revision: Revision): string {
  const changed = revision.fields.filter((each) => each !== "value");
  return revision.reason ?? ACTIONS[revision.action] ?? (changed.length ? `Changed ${changed.join(", ").replaceAll("_", "-")}` : "Wrote to it");
}
