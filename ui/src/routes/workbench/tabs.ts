/* What stands beside the blocks on the right of the workbench. */
import { lazy } from "react";
import type { MindTab } from "@/features/mind/Mind";

export const MIND_TABS: readonly MindTab[] = [
  { id: "archival", label: "Archival", countOf: "num_archival_memory", view: lazy(() => import("@/features/recall/ArchivalSearch")) },
  { id: "recall", label: "Recall", countOf: "num_recall_memory", view: lazy(() => import("@/features/recall/RecallSearch")) },
];
