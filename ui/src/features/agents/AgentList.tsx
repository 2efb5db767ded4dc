import { type RefObject, useCallback, useDeferredValue, useRef, useState } from "react";
import { useLocation } from "wouter";
import type { AgentFilter } from "@/api/agents";
import { useCommands } from "@/components/commands";
import { SECTION_LABELS, SECTIONS } from "@/components/ContextBar";
import { Select } from "@/components/controls";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import { Empty } from "@/components/Note";
import { AgentTable } from "@/features/agents/AgentTable";
import { FirstAgent } from "@/features/agents/FirstAgent";
import { useAgents } from "@/features/agents/useAgents";
import { count } from "@/lib/format";
import { useKeys } from "@/lib/keys";
import { usePersisted } from "@/lib/persisted";

const ORDERS = [
  ["last_run_completion", "Last activity"],
  ["created_at", "Newest"],
  ["updated_at", "Last change"],
] as const;

export function AgentList({ scroller }: { scroller: RefObject<HTMLElement | null> }) {
  const [, navigate] = useLocation();
  const [text, setText] = useState("");
  const [tag, setTag] = useState<string | null>(null);
  const [orderBy, setOrderBy] = usePersisted<AgentFilter["orderBy"]>("agents.order", "last_run_completion");
  const search = useRef<HTMLInputElement>(null);
  const filter: AgentFilter = { text: useDeferredValue(text.trim()), tag, orderBy };
  const { list, agents, total, isCounted, tags, runningIds, remove, duplicate } = useAgents(filter);
  const { fetchNextPage, hasNextPage, isFetchingNextPage } = list;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetchingNextPage]);
  const create = () => navigate(paths.newAgent);
  useKeys([
    { group: "Agents", keys: "/", label: "Search agents", run: () => search.current?.focus() },
    { group: "Agents", keys: "n a", label: "New agent", run: create },
  ]);
  useCommands([{ id: "new agent", group: "Agents here", label: "New agent", icon: "plus", keys: "n a", run: create }]);

  const isFiltered = text !== "" || tag !== null;
  if (isCounted && total === 0 && !isFiltered && !list.isPending && agents.length === 0) return <FirstAgent />;
  return (
    <div className="wrap wide">
      <div className="pagehead">
        <h1>Agents</h1>
        {isCounted && <span className="mut num">{count(total)}</span>}
        <span className="end" />
        <button className="btn primary" onClick={create}>
          <Icon name="plus" size={14} />
          New agent
        </button>
      </div>
      <div className="toolbar">
        <label className="field agentsearch">
          <Icon name="search" size={14} />
          <input ref={search} type="search" placeholder="Name or id" aria-label="Search agents" value={text} onChange={(event) => setText(event.target.value)} onKeyDown={(event) => event.key === "Escape" && search.current?.blur()} />
          <kbd>/</kbd>
        </label>
        <div className="chips" role="group" aria-label="Tags">
          {tags.length > 0 && [null, ...tags].map((each) => (
            <button key={each ?? "all"} className="chip" aria-pressed={tag === each} onClick={() => setTag(each)}>{each ?? "All"}</button>
          ))}
        </div>
        <span className="end ordering">
          <Select label="Order" value={orderBy} options={ORDERS} onChange={(next) => setOrderBy(next as AgentFilter["orderBy"])} />
        </span>
      </div>
      {list.isError && <Failure error={list.error} what="The list could not be loaded." onRetry={() => void list.refetch()} />}
      {list.isPending && <Loading lines={6} />}
      {agents.length > 0 && <AgentTable agents={agents} runningIds={runningIds} scroller={scroller} onEnd={more} onDuplicate={(agent) => void duplicate(agent)} onDelete={remove} />}
      {list.isSuccess && agents.length === 0 && (
        <Empty title={text ? `Nothing matches “${text}”` : "No agent has this tag"} action={<button className="btn sm" onClick={() => { setText(""); setTag(null); }}>Show all</button>}>
          Searched names{tag ? ` of agents tagged ${tag}` : ""}.
        </Empty>
      )}
      {agents.length > 0 && (
        <div className="row legendrow small mut">
          {SECTIONS.filter((name) => name !== "free").map((name) => (
            <span key={name} className="row"><i className={`sw c-${name}`} />{SECTION_LABELS[name]}</span>
          ))}
        </div>
      )}
    </div>
  );
}
