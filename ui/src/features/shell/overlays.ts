import { createStore } from "@/lib/store";

export type Overlay = "palette" | "keys" | null;
export const overlay = createStore<Overlay>(null);

export function openPalette(): void {
  overlay.set("palette");
}

export function openKeyList(): void {
  overlay.set("keys");
}

export function closeOverlay(): void {
  overlay.set(null);
}
