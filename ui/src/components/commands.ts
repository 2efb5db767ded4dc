/* What the palette offers. Pages add commands while they are shown; searches bring things to open. */
import { useEffect, useRef } from "react";
import type { Glyph } from "@/components/Icon";
import { createStore } from "@/lib/store";

export interface Command {
  id: string;
  group: string;
  label: string;
  icon: Glyph;
  hint?: string;
  keys?: string;
  /** Asked in the palette before it runs. */
  confirm?: string;
  run: () => void;
}

const layers = createStore<readonly (readonly Command[])[]>([]);
export const commandLayers = layers;

export function useCommands(list: readonly Command[]): void {
  const current = useRef(list);
  current.current = list;
  const shape = list.map((each) => `${each.id}|${each.group}|${each.label}|${each.hint ?? ""}`).join("\n");
  useEffect(() => {
    const layer = current.current.map((each, at) => ({ ...each, run: () => current.current[at]?.run() }));
    layers.set((now) => [layer, ...now]);
    return () => layers.set((now) => now.filter((other) => other !== layer));
  }, [shape]);
}

/** How well a text answers a query: higher is better, 0 is not at all. Letters in order, words first. */
export function score(text: string, query: string): number {
  const hay = text.toLowerCase();
  const needle = query.trim().toLowerCase();
  if (!needle) return 1;
  const at = hay.indexOf(needle);
  if (at === 0) return 100;
  if (at > 0) return /\W/.test(hay[at - 1] ?? "") ? 80 : 60;
  if (needle.split(/\s+/).every((word) => hay.includes(word))) return 40;
  let from = 0;
  for (const letter of needle) {
    from = hay.indexOf(letter, from) + 1;
    if (from === 0) return 0;
  }
  return 10;
}
