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
  { path: "/runs", page: lazy(() => import("@/routes/RunsRoute")) },
  { path: "/runs/:id", page: lazy(() => import("@/routes/RunRoute")) },
  { path: "/blocks", page: lazy(() => import("@/routes/BlocksRoute")) },
  { path: "/blocks/:id", page: lazy(() => import("@/routes/BlockRoute")) },
  { path: "/blocks/:id/history", page: lazy(() => import("@/routes/BlockHistoryRoute")) },
  { path: "/files", page: lazy(() => import("@/routes/FilesRoute")) },
  { path: "/files/:id", page: lazy(() => import("@/routes/FolderRoute")) },
  { path: "/settings", page: lazy(() => import("@/routes/SettingsRoute")) },
  { path: "/models", page: lazy(() => import("@/routes/ModelsRoute")) },
  { path: "/tools/*?", page: lazy(() => import("@/routes/ToolsRoute")) },
];

export const NAV: readonly (NavEntry & { key: string })[] = [
  { path: "/", label: "Agents", key: "a", also: /^\/(agents\/|new$)/ },
  { path: "/blocks", label: "Blocks", key: "b" },
  { path: "/files", label: "Files", key: "f" },
  { path: "/runs", label: "Runs", key: "r" },
  { path: "/tools", label: "Tools", key: "t" },
  { path: "/models", label: "Models", key: "m" },
  { path: "/settings", label: "Settings", key: "s" },
];
