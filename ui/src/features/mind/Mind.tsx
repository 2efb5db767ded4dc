/* The right of the workbench: what the model sees, and what it can look up. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ComponentType, Suspense, useState } from "react";
import { type Agent, contextQuery } from "@/api/agents";
import { describe } from "@/api/errors";
import { type Block, recompile } from "@/api/agentBlocks";
import { useCommands } from "@/components/commands";
import type { SectionName } from "@/components/ContextBar";
import { Tabs } from "@/components/controls";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { Loading } from "@/components/Loading";
import { Blocks } from "@/features/mind/Blocks";
import { ContextBox } from "@/features/mind/ContextBox";
import { PromptDialog } from "@/features/mind/PromptDialog";
import { count } from "@/lib/format";
import { useKeys } from "@/lib/keys";
import { toast } from "@/lib/toasts";

/** Another tab beside the blocks; the workbench brings them in. */
export interface MindTab {
  id: string;
  label: string;
  countOf: "num_archival_memory" | "num_recall_memory";
  view: ComponentType<{ agentId: string; agentName: string; conversation: string | null }>;
}

interface Props {
  agent: Agent;
  conversation: string | null;
  tabs: readonly MindTab[];
}

export function Mind({ agent, conversation, tabs }: Props) {
  const queries = useQueryClient();
  const overview = useQuery(contextQuery(agent.id, conversation));
  const [tab, setTab] = useState("blocks");
  const [reading, setReading] = useState<SectionName | "all" | null>(null);
  const blocks = agent.blocks as unknown as Block[];
  const rebuild = async () => {
    try {
      await recompile(agent.id, conversation);
      await queries.invalidateQueries({ queryKey: ["agent", agent.id] });
      toast("The system message is rebuilt: the prompt holds what the blocks say.");
    } catch (error) {
      toast(`Not rebuilt. ${describe(error)}`, { tone: "bad" });
    }
  };
  const all = [{ id: "blocks", label: "Blocks", count: count(blocks.length) }, ...tabs.map((each) => ({ id: each.id, label: each.label, count: overview.data ? count(overview.data[each.countOf]) : undefined }))];
  const focusSearch = () => {
    if (tab === "blocks" && tabs[0]) setTab(tabs[0].id);
    requestAnimationFrame(() => document.querySelector<HTMLInputElement>(".mindbody input")?.focus());
  };
  useKeys([
    ...all.map((each, at) => ({ group: "Memory", keys: String(at + 1), label: each.label, run: () => setTab(each.id) })),
    { group: "Memory", keys: "/", label: "Search memory", run: focusSearch },
  ]);
  useCommands([
    { id: "read prompt", group: "This agent", label: "Read the whole prompt", icon: "eye", run: () => setReading("all") },
    { id: "recompile", group: "This agent", label: "Rebuild the system message now", icon: "refresh", run: () => void rebuild() },
  ]);
  const View = tabs.find((each) => each.id === tab)?.view;
  return (
    <>
      <div className="panebar">
        <h2>Mind</h2>
        <span className="meta">what the model sees and what it can look up</span>
        <span className="end" />
        <button className="icon" aria-label="Rebuild the system message now" title="Recompile" onClick={() => void rebuild()}><Icon name="refresh" /></button>
        <button className="icon" aria-label="Read the whole prompt" title="Read the prompt" disabled={!overview.data} onClick={() => setReading("all")}><Icon name="eye" /></button>
      </div>
      {overview.data ? (
        <ContextBox overview={overview.data} blocks={blocks} onOpen={setReading} />
      ) : overview.isError ? (
        <div className="ctxbox"><Failure error={overview.error} what="The context window cannot be shown." onRetry={() => void overview.refetch()} /></div>
      ) : (
        <div className="ctxbox waiting"><Loading lines={3} /></div>
      )}
      <Tabs label="Memory" value={tab} tabs={all} onChange={setTab} />
      <div className="mindbody scroll" role="tabpanel" id={`panel-${tab}`} aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {View ? (
          <Suspense fallback={<Loading />}><View agentId={agent.id} agentName={agent.name} conversation={conversation} /></Suspense>
        ) : (
          <Blocks agentId={agent.id} agentName={agent.name} blocks={blocks} prompt={overview.data?.core_memory ?? null} />
        )}
      </div>
      {reading && overview.data && <PromptDialog overview={overview.data} section={reading === "all" ? null : reading} onClose={() => setReading(null)} />}
    </>
  );
}
