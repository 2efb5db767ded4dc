/* The centre of the workbench. */
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { describe } from "@/api/errors";
import { forkConversation, type Place, renameConversation } from "@/api/messages";
import { useCommands } from "@/components/commands";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import { Note } from "@/components/Note";
import { AskCard } from "@/features/chat/AskCard";
import { CallRow } from "@/features/chat/CallRow";
import { ChatLog } from "@/features/chat/ChatLog";
import { Composer } from "@/features/chat/Composer";
import { Conversations, conversationsKey } from "@/features/chat/Conversations";
import type { Msg } from "@/features/chat/fold";
import { Line } from "@/features/chat/Line";
import { MessageRow, ThoughtRow } from "@/features/chat/MessageRow";
import { openRequest, type Row, toRows } from "@/features/chat/rows";
import { ChatSession } from "@/features/chat/session";
import { StepLine } from "@/features/chat/StepLine";
import { when } from "@/lib/format";
import { showKeys, useKeys } from "@/lib/keys";
import { usePersisted } from "@/lib/persisted";
import { useStore } from "@/lib/store";
import { toast } from "@/lib/toasts";

interface Props {
  place: Place;
  agentName: string;
  /** The id of a message to show. */
  target: string | null;
  onProgress: () => void;
  onState: (state: "idle" | "running" | "waiting") => void;
  toggles: { left: ReactNode; right: ReactNode };
}

export function Chat({ place, agentName, target, onProgress, onState, toggles }: Props) {
  const { agentId, conversation } = place;
  const session = useMemo(() => new ChatSession({ agentId, conversation }), [agentId, conversation]);
  const state = useStore(session.state);
  const field = useRef<HTMLTextAreaElement>(null);
  const [withThoughts, setThoughts] = usePersisted("chat.thoughts", true);
  const fork = useFork(place);
  const isRunning = state.runs.length > 0;
  const rows = useMemo(() => toRows(state.messages, isRunning).filter((row) => withThoughts || row.kind !== "thought"), [state.messages, isRunning, withThoughts]);
  const request = openRequest(rows);
  const isWaiting = request !== null && !isRunning;

  useEffect(() => {
    session.open();
    return () => session.close();
  }, [session]);
  useEffect(() => {
    session.onProgress = onProgress;
  }, [session, onProgress]);
  useEffect(() => onState(isWaiting ? "waiting" : isRunning ? "running" : "idle"), [isWaiting, isRunning, onState]);
  useEffect(() => {
    if (target && state.isLoaded) void session.reach(target);
  }, [target, state.isLoaded, session]);

  const stop = useCallback(() => void session.cancel(), [session]);
  useKeys([
    { group: "Chat", keys: "i", label: "Write a message", run: () => field.current?.focus() },
    { group: "Chat", keys: "mod+.", label: "Stop the run", run: stop },
  ]);
  useCommands([
    { id: "stop run", group: "This agent", label: "Stop the run", icon: "stop", keys: "mod+.", run: stop },
    { id: "thoughts", group: "This agent", label: withThoughts ? "Hide reasoning" : "Show reasoning", icon: "thought", run: () => setThoughts(!withThoughts) },
  ]);

  const retry = () => {
    const last = state.messages.findLast((each) => each.kind === "user");
    if (last) void session.send(last.text, { text: last.text, images: [] });
  };
  const draw = (row: Row) => {
    switch (row.kind) {
      case "message":
        return <MessageRow msg={row.msg} agentName={agentName} onFork={fork} />;
      case "thought":
        return <ThoughtRow msg={row.msg} />;
      case "call":
        return <CallRow call={row.call} />;
      case "ask":
        return <AskCard calls={row.calls} agentName={agentName} onAnswer={(answers) => session.answer(answers)} />;
      case "line":
        return <Line msg={row.msg} onRetry={row.msg === state.messages.at(-1) ? retry : null} />;
      case "step":
        return <StepLine stepId={row.stepId} runId={row.runId} />;
    }
  };

  return (
    <>
      <div className="panebar chatbar">
        {toggles.left}
        <Conversations place={place} />
        <button className="icon" aria-label="Show reasoning" title="Show reasoning" aria-pressed={withThoughts} onClick={() => setThoughts(!withThoughts)}>
          <Icon name="thought" />
        </button>
        {toggles.right}
      </div>
      {!state.isLoaded && !state.loadError && <div className="log"><Loading lines={5} /></div>}
      {state.loadError !== null && <div className="log"><Failure error={state.loadError} what="The messages could not be loaded." onRetry={() => void session.load()} /></div>}
      {state.isLoaded && (
        <ChatLog
          key={`log ${conversation}`}
          rows={rows}
          label={`Conversation with ${agentName}`}
          draw={draw}
          target={target}
          onTop={() => void session.loadOlder()}
          head={rows.length === 0 ? <Start agentName={agentName} /> : state.hasOlder ? <Loading lines={2} /> : null}
        />
      )}
      {state.note && (
        <div className="chatnote">
          <Note tone={state.note.tone} role="status">
            {state.note.text} <button className="link" onClick={() => session.dropNote()}>Close</button>
          </Note>
        </div>
      )}
      {isWaiting ? (
        <div className="cmp">
          <div className="cmpbox off">
            <span className="grow">{agentName} takes no message while a call waits. Answer it, or stop the run.</span>
            <button className="btn sm bad" disabled={state.isCancelling} onClick={stop}>
              <Icon name="stop" size={12} />
              Stop run <kbd>{showKeys("mod+.")}</kbd>
            </button>
          </div>
        </div>
      ) : (
        <Composer key={`composer ${conversation}`} place={`${agentId}.${conversation ?? "main"}`} agentName={agentName} isRunning={isRunning} since={state.since} isCancelling={state.isCancelling} field={field} onSend={(content, shown) => session.send(content, shown)} onCancel={stop} />
      )}
      <Announcer messages={state.messages} isWaiting={isWaiting} agentName={agentName} />
    </>
  );
}

function Start({ agentName }: { agentName: string }) {
  return <div className="chatstart"><p className="dim">Say something to {agentName}. It keeps this history for life, and writes what matters into its memory, on the right.</p></div>;
}

/** For those who listen: a message when it has ended, a waiting call at once, nothing in between. */
function Announcer({ messages, isWaiting, agentName }: { messages: readonly Msg[]; isWaiting: boolean; agentName: string }) {
  const [hasHeard, setHeard] = useState(false);
  const last = messages.findLast((each) => each.kind === "agent");
  const words = last && !last.isLive ? `${agentName}: ${last.text}` : "";
  useEffect(() => {
    if (messages.some((each) => each.isLive)) setHeard(true);
  }, [messages]);
  return (
    <>
      <div className="vh" aria-live="polite">{hasHeard ? words : ""}</div>
      <div className="vh" aria-live="assertive">{isWaiting ? `${agentName} waits for your approval.` : ""}</div>
    </>
  );
}

function useFork(place: Place) {
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const { agentId, conversation } = place;
  return useCallback(
    async (msg: Msg) => {
      try {
        const made = await forkConversation({ agentId, conversation }, msg.id);
        await renameConversation(made.id, `Fork of ${when(msg.date)}`);
        await queries.invalidateQueries({ queryKey: conversationsKey(agentId) });
        navigate(paths.conversation(agentId, made.id));
        toast("Forked. This conversation shares the history up to that message.");
      } catch (error) {
        toast(`Not forked. ${describe(error)}`, { tone: "bad" });
      }
    },
    [agentId, conversation, navigate, queries],
  );
}
