/* What stands beside the blocks on the right of the workbench. */
import type { MindTab } from "@/features/mind/Mind";

export const MIND_TABS: readonly MindTab[] = [];
