/* So many at a time: what is nice to have must not keep what is needed waiting, since browsers open few connections. */

export function createLimiter(size: number): <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T> {
  let busy = 0;
  const waiting: (() => void)[] = [];
  return async (work, signal) => {
    if (busy >= size) await new Promise<void>((go) => waiting.push(go));
    else busy++;
    try {
      signal.throwIfAborted(); // nobody wants it any more
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else busy--;
    }
  };
}
