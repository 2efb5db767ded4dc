/* One agent: its settings, the talk with it, its mind. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useState } from "react";
import { useParams, useSearch } from "wouter";
import { agentQuery } from "@/api/agents";
import { statusOf } from "@/api/errors";
import { Boundary } from "@/components/Boundary";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { Loading } from "@/components/Loading";
import { Note } from "@/components/Note";
import { usePage } from "@/components/usePage";
import { AgentSettings } from "@/features/agent-settings/AgentSettings";
import { Chat } from "@/features/chat/Chat";
import { Mind } from "@/features/mind/Mind";
import { useKeys } from "@/lib/keys";
import { usePersisted } from "@/lib/persisted";
import { MIND_TABS } from "@/routes/workbench/tabs";

type Pane = "settings" | "chat" | "mind";
const PANES = [["settings", "Settings", "sliders"], ["chat", "Chat", "chat"], ["mind", "Mind", "block"]] as const;

export default function WorkbenchRoute() {
  const { agentId = "", conversationId } = useParams();
  const conversation = conversationId ?? null;
  const target = new URLSearchParams(useSearch()).get("message");
  const queries = useQueryClient();
  const agent = useQuery(agentQuery(agentId));
  const [chatState, setChatState] = useState<"idle" | "running" | "waiting">("idle");
  const [pane, setPane] = useState<Pane>("chat");
  const [hasLeft, setLeft] = usePersisted("bench.left", true);
  const [hasRight, setRight] = usePersisted("bench.right", true);
  const [isDrawn, setDrawn] = useState(false); // the settings as a drawer, where there is no room for them
  usePage(agent.data?.name ?? "Agent", chatState === "waiting" ? { text: "waits for you", tone: "warn" } : undefined);

  const refresh = useCallback(() => void queries.invalidateQueries({ queryKey: ["agent", agentId] }), [queries, agentId]);
  const toggleLeft = () => {
    if (matchMedia("(max-width: 1180px)").matches) setDrawn(!isDrawn);
    else setLeft(!hasLeft);
  };
  useKeys([
    { group: "Workbench", keys: "[", label: "Settings", run: toggleLeft },
    { group: "Workbench", keys: "]", label: "Mind", run: () => setRight(!hasRight) },
  ]);
  useEffect(() => {
    document.body.dataset["pane"] = pane;
    return () => {
      delete document.body.dataset["pane"];
    };
  }, [pane]);

  if (agent.isError) {
    return (
      <main id="main" className="page" tabIndex={-1}>
        <div className="wrap">
          {statusOf(agent.error) === 404 || statusOf(agent.error) === 422 ? <Note tone="warn"><b>No such agent.</b> It may have been deleted.</Note> : <Failure error={agent.error} what="The agent could not be loaded." onRetry={() => void agent.refetch()} />}
        </div>
      </main>
    );
  }
  if (!agent.data) return <main id="main" className="page" tabIndex={-1}><Loading lines={5} /></main>;
  const classes = ["bench", hasLeft ? "" : "noleft", hasRight ? "" : "noright", isDrawn ? "drawn" : ""].join(" ");
  return (
    <>
      <div className={classes}>
        <aside className="pane left" aria-label="Agent settings"><Boundary resetKey={agentId}><AgentSettings key={agentId} agent={agent.data} conversation={conversation} /></Boundary></aside>
        {isDrawn && <button className="drawershade" aria-label="Close settings" onClick={() => setDrawn(false)} />}
        <main id="main" className="pane chat" aria-label="Conversation" tabIndex={-1}>
          <Boundary resetKey={agentId}>
            <Chat
              key={agentId}
              place={{ agentId, conversation }}
              agentName={agent.data.name}
              target={target}
              onProgress={refresh}
              onState={setChatState}
              toggles={{
                left: <button className="icon pane-toggle" aria-label={hasLeft ? "Hide settings" : "Show settings"} title="Settings  [" onClick={toggleLeft}><Icon name="panel-l" /></button>,
                right: <button className="icon pane-toggle" aria-label={hasRight ? "Hide the mind" : "Show the mind"} title="Mind  ]" onClick={() => setRight(!hasRight)}><Icon name="panel-r" /></button>,
              }}
            />
          </Boundary>
        </main>
        <aside className="pane right" aria-label="Mind"><Boundary resetKey={agentId}><Mind key={agentId} agent={agent.data} conversation={conversation} tabs={MIND_TABS} /></Boundary></aside>
      </div>
      <nav className="bottombar" aria-label="Panes">
        {PANES.map(([id, label, icon]) => (
          <button key={id} aria-pressed={pane === id} onClick={() => setPane(id)}>
            <Icon name={icon} />
            {label}
            {id === "chat" && chatState === "waiting" && <span className="badge"><i className="dot warn" /></span>}
          </button>
        ))}
      </nav>
    </>
  );
}
