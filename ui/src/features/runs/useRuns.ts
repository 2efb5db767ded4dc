/* The list of runs under the filters in the address, kept fresh. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";
import { searchAgents } from "@/api/agents";
import { isActive, listRuns, RUN_STATES, type RunFilter, RUNS_A_PAGE, type RunState } from "@/api/runs";

export function useRunFilter(): [RunFilter, (changes: Partial<RunFilter>) => void] {
  const [search, setSearch] = useSearchParams();
  const state = RUN_STATES.some(([name]) => name === search.get("state")) ? (search.get("state") as RunState) : "all";
  const filter: RunFilter = { agent: search.get("agent"), state };
  return [
    filter,
    (changes) => {
      const next = { ...filter, ...changes };
      setSearch(Object.fromEntries(Object.entries(next).filter(([, value]) => value && value !== "all")) as Record<string, string>, { replace: true });
    },
  ];
}

export function useRuns(filter: RunFilter) {
  return useInfiniteQuery({
    queryKey: ["runs", filter],
    queryFn: ({ pageParam }) => listRuns(filter, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => (last.length < RUNS_A_PAGE ? null : (last.at(-1)?.id ?? null)),
    refetchInterval: (query) => (query.state.data?.pages.flat().some(isActive) ? 1500 : 10_000),
  });
}

export function useAgentChoice(): (readonly [string, string])[] {
  const agents = useQuery({ queryKey: ["agents", "choice"], queryFn: () => searchAgents("", 200), staleTime: 30_000 });
  return [["", "All agents"], ...(agents.data ?? []).map((agent) => [agent.id, agent.name] as const)];
}
