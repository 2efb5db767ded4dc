/* Choices that are kept in this browser. Storage may be switched off: then they last as long as the page. */
import { useState } from "react";

const PREFIX = "remanence.";

export function readKept(name: string, storage: "local" | "session" = "local"): string | null {
  try {
    return window[`${storage}Storage`].getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function keep(name: string, value: string | null, storage: "local" | "session" = "local"): void {
  try {
    const kept = window[`${storage}Storage`];
    if (value === null) kept.removeItem(PREFIX + name);
    else kept.setItem(PREFIX + name, value);
  } catch {
    /* see above */
  }
}

export function usePersisted<T>(name: string, initial: T): [T, (next: T) => void] {
  const [value, setValue] = useState<T>(() => {
    const kept = readKept(name);
    try {
      return kept === null ? initial : (JSON.parse(kept) as T);
    } catch {
      return initial;
    }
  });
  return [
    value,
    (next) => {
      keep(name, JSON.stringify(next));
      setValue(next);
    },
  ];
}
