/* Light, dark, or as the system has it. The first paint is public/theme.js's; this follows later changes. */
import { keep, readKept } from "@/lib/persisted";
import { createStore } from "@/lib/store";

export type Theme = "system" | "light" | "dark";

const asks = matchMedia("(prefers-color-scheme: dark)");
const kept = readKept("theme");

export const theme = createStore<Theme>(kept === "light" || kept === "dark" ? kept : "system");

export function isDark(): boolean {
  return theme.get() === "dark" || (theme.get() === "system" && asks.matches);
}

export function chooseTheme(next: Theme): void {
  keep("theme", next === "system" ? null : next);
  theme.set(next);
  paint();
}

function paint(): void {
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
}

asks.addEventListener("change", paint);
