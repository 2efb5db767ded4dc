/* Models are asked one after the other: they cost money, and a local one is slow enough alone. */
import { useCallback, useEffect, useRef, useState } from "react";
import { describe } from "@/api/errors";
import { probeModel } from "@/api/providers";
import { keepProbe } from "@/features/models/probes";

export interface Probing {
  current: string | null;
  queue: readonly string[];
  errors: Record<string, string>;
  start: (handles: readonly string[]) => void;
  stop: () => void;
}

export function useProbing(): Probing {
  const [queue, setQueue] = useState<readonly string[]>([]);
  const [current, setCurrent] = useState<string | null>(null);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const isBusy = useRef(false);
  useEffect(() => {
    const [next, ...rest] = queue;
    if (!next || isBusy.current) return;
    isBusy.current = true;
    setCurrent(next);
    setQueue(rest);
    setErrors(({ [next]: _, ...others }) => others);
    probeModel(next)
      .then(keepProbe, (error: unknown) => setErrors((now) => ({ ...now, [next]: `It cannot be asked. ${describe(error)}` })))
      .finally(() => {
        isBusy.current = false;
        setCurrent(null);
        setQueue((now) => [...now]);
      });
  }, [queue]);
  const start = useCallback((handles: readonly string[]) => setQueue((now) => [...now, ...handles.filter((each) => !now.includes(each))]), []);
  const stop = useCallback(() => setQueue([]), []);
  return { current, queue, errors, start, stop };
}
