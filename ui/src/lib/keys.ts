/* The keyboard map. Pages add bindings while they are shown; `?` lists what is there. */
import { useEffect, useRef } from "react";
import { readKept, keep } from "@/lib/persisted";
import { createStore } from "@/lib/store";

export interface Binding {
  /** "mod+k", "?", "g a" (one after the other). `mod` is Ctrl, or ⌘ on a Mac. */
  keys: string;
  label: string;
  group: string;
  run: (event: KeyboardEvent) => void;
}

const SEQUENCE_MS = 1000;
const layers = createStore<readonly (readonly Binding[])[]>([]);
export const areLettersOn = createStore(readKept("letters") !== "off");
export const isMac = /Mac|iP(hone|ad)/.test(navigator.platform);

export function switchLetters(on: boolean): void {
  keep("letters", on ? null : "off");
  areLettersOn.set(on);
}

export const bindings = layers;

/** `Ctrl K` for people. */
export function showKeys(keys: string): string {
  return keys
    .split(" ")
    .map((stroke) => stroke.split("+").map((part) => (part === "mod" ? (isMac ? "⌘" : "Ctrl") : part.length === 1 ? part.toUpperCase() : part)).join(" "))
    .join(" ");
}

export function useKeys(list: readonly Binding[]): void {
  const current = useRef(list);
  current.current = list;
  const shape = list.map((each) => `${each.group}|${each.keys}|${each.label}`).join("\n");
  useEffect(() => {
    const layer = current.current.map((each, at) => ({ ...each, run: (event: KeyboardEvent) => current.current[at]?.run(event) }));
    layers.set((now) => [...now, layer]);
    return () => layers.set((now) => now.filter((other) => other !== layer));
  }, [shape]);
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.getAttribute("role") === "textbox";
}

/** What a key event is called in a binding. */
export function strokeOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return event.ctrlKey || event.metaKey ? `mod+${key}` : event.altKey ? `alt+${key}` : key;
}

let pending = "";
let timer: ReturnType<typeof setTimeout> | undefined;

export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const stroke = strokeOf(event);
    const isPlain = !stroke.startsWith("mod+");
    if (isPlain && (isTyping(event.target) || !areLettersOn.get() || document.querySelector("dialog[open]"))) return;
    const typed = pending ? `${pending} ${stroke}` : stroke;
    const all = layers.get().toReversed().flat();
    clearTimeout(timer);
    const found = all.find((each) => each.keys === typed) ?? all.find((each) => each.keys === stroke);
    pending = !found && isPlain && all.some((each) => each.keys.startsWith(`${stroke} `)) ? stroke : "";
    if (pending) timer = setTimeout(() => (pending = ""), SEQUENCE_MS);
    if (!found) return;
    event.preventDefault();
    found.run(event);
  });
}
