/* Each change is saved at once, says so for a moment, and is rolled back with a sentence if it fails. */
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { type Agent, updateAgent } from "@/api/agents";
import { describe } from "@/api/errors";
import { toast } from "@/lib/toasts";

const SAID_MS = 2000;

export interface Saving {
  /** The name of the section that was saved a moment ago. */
  saved: string | null;
  patch: (section: string, changes: Record<string, unknown>) => Promise<boolean>;
  /** For what is not a field of the agent. */
  run: (section: string, work: () => Promise<unknown>) => Promise<boolean>;
}

export function useSaving(agent: Agent): Saving {
  const queries = useQueryClient();
  const [saved, setSaved] = useState<string | null>(null);
  const run = useCallback(
    async (section: string, work: () => Promise<unknown>) => {
      try {
        await work();
        setSaved(section);
        setTimeout(() => setSaved((now) => (now === section ? null : now)), SAID_MS);
        return true;
      } catch (error) {
        toast(`Not saved, so it stays as it was. ${describe(error)}`, { tone: "bad" });
        return false;
      } finally {
        await queries.invalidateQueries({ queryKey: ["agent", agent.id] });
        void queries.invalidateQueries({ queryKey: ["agents"] });
      }
    },
    [queries, agent.id],
  );
  const patch = useCallback((section: string, changes: Record<string, unknown>) => run(section, () => updateAgent(agent.id, changes)), [run, agent.id]);
  return { saved, patch, run };
}
