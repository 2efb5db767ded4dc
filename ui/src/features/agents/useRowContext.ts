/* How full an agent's window is, for rows that stay in view: two at a time, and never for those that rush by. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { contextQuery, fetchContext } from "@/api/agents";
import { createLimiter } from "@/lib/limit";

const SETTLED_MS = 150;
const limit = createLimiter(2);

export function useRowContext(id: string) {
  const [isSettled, setSettled] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), SETTLED_MS);
    return () => clearTimeout(timer);
  }, []);
  const { queryKey } = contextQuery(id);
  return useQuery({ queryKey, queryFn: ({ signal }) => limit(() => fetchContext(id, null, signal), signal), enabled: isSettled, staleTime: 300_000 });
}
