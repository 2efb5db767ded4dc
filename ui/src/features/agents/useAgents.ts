/* The list as it is scrolled, and what can be done to its rows. */
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { type Agent, type AgentFilter, countAgents, deleteAgent, duplicateAgent, listAgents, listTags } from "@/api/agents";
import { ask } from "@/api/client";
import { describe } from "@/api/errors";
import { toast } from "@/lib/toasts";

const FIRST_PAGE = 50;
const NEXT_PAGE = 200;
const UNDO_MS = 6000;

export function useAgents(filter: AgentFilter) {
  const list = useInfiniteQuery({
    queryKey: ["agents", "list", filter],
    queryFn: ({ pageParam }) => listAgents(filter, pageParam, pageParam ? NEXT_PAGE : FIRST_PAGE),
    initialPageParam: null as string | null,
    getNextPageParam: (last, pages) => (last.length === (pages.length === 1 ? FIRST_PAGE : NEXT_PAGE) ? (last.at(-1)?.id ?? null) : null),
    placeholderData: (old) => old,
  });
  const total = useQuery({ queryKey: ["agents", "count"], queryFn: countAgents });
  const tags = useQuery({ queryKey: ["agents", "tags"], queryFn: listTags });
  const running = useQuery({
    queryKey: ["runs", "active"],
    queryFn: () => ask<{ agent_id: string }[]>("GET", "/v1/runs/", { query: { active: true, limit: 1000 } }),
    refetchInterval: 5000,
  });
  const [gone, setGone] = useState<ReadonlySet<string>>(new Set());
  const agents = useMemo(() => (list.data?.pages.flat() ?? []).filter((each) => !gone.has(each.id)), [list.data, gone]);
  const runningIds = useMemo(() => new Set(running.data?.map((each) => each.agent_id)), [running.data]);
  const { remove, duplicate } = useChanges(setGone);
  return { list, agents, total: Math.max(0, (total.data ?? 0) - gone.size), isCounted: total.data !== undefined, tags: tags.data ?? [], runningIds, remove, duplicate };
}

function useChanges(setGone: React.Dispatch<React.SetStateAction<ReadonlySet<string>>>) {
  const queries = useQueryClient();
  const refresh = useCallback(() => queries.invalidateQueries({ queryKey: ["agents"] }), [queries]);

  /** Out of sight at once, out of the database when nobody has asked it back. */
  const remove = useCallback(
    (agent: Agent) => {
      const hide = (isGone: boolean) =>
        setGone((now) => {
          const next = new Set(now);
          if (isGone) next.add(agent.id);
          else next.delete(agent.id);
          return next;
        });
      const finish = async () => {
        clearTimeout(timer);
        removeEventListener("pagehide", finish);
        try {
          await deleteAgent(agent.id);
        } catch (error) {
          toast(`${agent.name} was not deleted. ${describe(error)}`, { tone: "bad" });
        }
        await refresh();
        hide(false);
      };
      const timer = setTimeout(() => void finish(), UNDO_MS);
      addEventListener("pagehide", finish);
      hide(true);
      toast(`${agent.name} is deleted.`, {
        shownMs: UNDO_MS,
        action: {
          label: "Undo",
          run: () => {
            clearTimeout(timer);
            removeEventListener("pagehide", finish);
            hide(false);
          },
        },
      });
    },
    [refresh, setGone],
  );

  const duplicate = useCallback(
    async (agent: Agent) => {
      try {
        const made = await duplicateAgent(agent.id);
        await refresh();
        toast(`${made.name} has the same mind and settings, and an empty history.`);
      } catch (error) {
        toast(`${agent.name} was not duplicated. ${describe(error)}`, { tone: "bad" });
      }
    },
    [refresh],
  );
  return { remove, duplicate };
}
