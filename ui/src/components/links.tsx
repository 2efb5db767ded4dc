/* Addresses inside the page, in one place. */
import { createStore } from "@/lib/store";

export const paths = {
  agents: "/",
  newAgent: "/new",
  agent: (id: string) => `/agents/${id}`,
  conversation: (id: string, conversation: string) => `/agents/${id}/${conversation}`,
  runs: "/runs",
  run: (id: string) => `/runs/${id}`,
  tools: "/tools",
  tool: (id: string) => `/tools/${id}`,
  blocks: "/blocks",
  block: (id: string) => `/blocks/${id}`,
  blockHistory: (id: string) => `/blocks/${id}/history`,
  files: "/files",
  folder: (id: string) => `/files/${id}`,
  models: "/models",
  settings: "/settings",
};

/** What the header says on a phone, where there is no room for the navigation. */
export interface Crumb {
  title: string;
  tag?: { text: string; tone: "warn" | "bad" };
}

export const crumb = createStore<Crumb>({ title: "Remanence" });
