/* Every address of the interface and the file that shows it; loaded when it is first opened. */
import { lazy, type LazyExoticComponent, type ComponentType } from "react";
import type { NavEntry } from "@/features/shell/Header";

interface RouteEntry {
  path: string;
  page: LazyExoticComponent<ComponentType>;
}

export const ROUTES: readonly RouteEntry[] = [
  { path: "/", page: lazy(() => import("@/routes/AgentsRoute")) },
  { path: "/new", page: lazy(() => import("@/routes/NewAgentRoute")) },
  { path: "/agents/:agentId/:conversationId?", page: lazy(() => import("@/routes/workbench/WorkbenchRoute")) },
];

export const NAV: readonly (NavEntry & { key: string })[] = [
  { path: "/", label: "Agents", key: "a", also: /^\/(agents\/|new$)/ },
];
