/* Short notes that float, say what was done, and offer to take it back. */
import { createStore } from "@/lib/store";

export interface Toast {
  id: number;
  text: string;
  tone: "ok" | "bad";
  action?: { label: string; run: () => void };
}

const SHOWN_MS = 6000;
let last = 0;

export const toasts = createStore<readonly Toast[]>([]);

export function toast(text: string, options: Omit<Toast, "id" | "text" | "tone"> & { tone?: Toast["tone"]; shownMs?: number } = {}): number {
  const { tone = "ok", shownMs = SHOWN_MS, ...rest } = options;
  const id = ++last;
  toasts.set((now) => [...now.slice(-3), { id, text, tone, ...rest }]);
  setTimeout(() => dismiss(id), shownMs);
  return id;
}

export function dismiss(id: number): void {
  toasts.set((now) => now.filter((each) => each.id !== id));
}
