/* Calls that wait for your word: every argument whole, answered together. */
import { useRef, useState } from "react";
import { Segments } from "@/components/controls";
import { Icon } from "@/components/Icon";
import { Json } from "@/components/Json";
import type { ShownCall } from "@/features/chat/rows";
import { useKeys } from "@/lib/keys";

interface Props {
  calls: readonly ShownCall[];
  agentName: string;
  onAnswer: (answers: readonly { tool_call_id: string; approve: boolean; reason?: string | null }[]) => Promise<boolean>;
}

export function AskCard({ calls, agentName, onAnswer }: Props) {
  const [view, setView] = useState<"fields" | "json">("fields");
  const [reason, setReason] = useState("");
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const isWriting = calls.some((call) => call.state === "writing");
  const answer = async (approve: boolean) => {
    if (isBusy || isWriting) return;
    setBusy(true);
    const taken = await onAnswer(calls.map((call) => ({ tool_call_id: call.id, approve, ...(approve ? {} : { reason: reason.trim() || null }) })));
    if (!taken) setBusy(false);
  };
  useKeys([
    { group: "Approval", keys: "a", label: "Approve", run: () => void answer(true) },
    { group: "Approval", keys: "d", label: "Deny: give a reason, then Enter", run: () => field.current?.focus() },
  ]);
  const names = calls.map((call) => call.name);
  return (
    <section className="ask" aria-label="Approval request" data-nav="" tabIndex={-1}>
      <div className="hd">
        <Icon name="shield" />
        <b>{calls.length === 1 ? <code>{names[0]}</code> : `${calls.length} calls`} {calls.length === 1 ? "waits" : "wait"} for your approval</b>
        <span className="small mut">exact arguments, nothing done yet</span>
        <span className="end">
          <Segments label="How arguments are shown" value={view} onChange={setView} options={[["fields", "Fields"], ["json", "JSON"]]} />
        </span>
      </div>
      {calls.map((call) => (
        <div key={call.id}>
          {calls.length > 1 && <div className="askname"><code>{call.name}</code></div>}
          {isWriting ? <p className="hint shown">writing arguments</p> : view === "json" ? <Json value={parse(call.arguments)} openTo={9} /> : <Fields json={call.arguments} />}
        </div>
      ))}
      <div className="hint">Exact arguments. Nothing has been done.</div>
      <form
        className="do"
        onSubmit={(event) => {
          event.preventDefault();
          void answer(false);
        }}
      >
        <button type="button" className="btn primary" disabled={isBusy || isWriting} onClick={() => void answer(true)}>
          Approve <kbd className="on">A</kbd>
        </button>
        <button type="submit" className="btn" disabled={isBusy || isWriting}>
          Deny <kbd>D</kbd>
        </button>
        <label className="field grow">
          <input ref={field} placeholder={`Reason, if you deny. ${agentName} reads it.`} aria-label="Reason" value={reason} onChange={(event) => setReason(event.target.value)} />
        </label>
      </form>
    </section>
  );
}

function Fields({ json }: { json: string }) {
  const given = parse(json);
  if (given === null || typeof given !== "object") return <dl><dt>text</dt><dd>{json}</dd></dl>;
  const entries = Object.entries(given);
  if (!entries.length) return <p className="hint shown">No arguments.</p>;
  return (
    <dl>
      {entries.map(([name, value]) => [
        <dt key={`${name} name`}>{name}</dt>,
        <dd key={name}>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</dd>,
      ])}
    </dl>
  );
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return json;
  }
}
