/* A search that follows the typing, and tells how long the server took. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

const QUIET_MS = 200;

export function useQuiet(text: string): string {
  const [quiet, setQuiet] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setQuiet(text), QUIET_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return quiet;
}

export function useSearch<T>(key: readonly unknown[], query: string, find: (query: string, signal: AbortSignal) => Promise<T[]>) {
  const quiet = useQuiet(query.trim());
  const found = useQuery({
    queryKey: [...key, quiet],
    queryFn: async ({ signal }) => {
      const began = performance.now();
      const hits = await find(quiet, signal);
      return { hits, ms: performance.now() - began, query: quiet };
    },
    enabled: quiet !== "",
    placeholderData: (old) => (quiet ? old : undefined),
  });
  return { found, isAsked: quiet !== "" };
}
