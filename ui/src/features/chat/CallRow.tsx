/* A tool call: shut it says what, with what, and how it went; open it shows all of it. */
import { memo, useState } from "react";
import { Icon, type Glyph } from "@/components/Icon";
import { argumentsLine, type ShownCall } from "@/features/chat/rows";
import { diffWords } from "@/lib/diff";

export function glyphOf(tool: string): Glyph {
  if (/^(memory_|core_memory|memory$|rethink|store_mem)/.test(tool)) return "block";
  if (tool.startsWith("archival_")) return "archive";
  if (tool === "conversation_search") return "recall";
  return "tool";
}

const LONG = 4000;

export const CallRow = memo(
  function CallRow({ call }: { call: ShownCall }) {
    const edit = editOf(call);
    const [chosen, setOpen] = useState<boolean | null>(null);
    const isOpen = chosen ?? (edit !== null || call.state === "failed" || call.state === "denied");
    const isLive = call.state === "writing" || call.state === "running";
    return (
      <section className={`call ${isLive ? "live" : ""} ${call.state === "failed" ? "err" : ""}`} data-nav="" tabIndex={-1} aria-label={`Tool call ${call.name}`}>
        <button className="hd" aria-expanded={isOpen} disabled={isLive} onClick={() => setOpen(!isOpen)}>
          <Icon name={glyphOf(call.name)} size={14} />
          <code>{call.name}</code>
          <span className="args cut">{call.state === "writing" ? "" : edit ? edit.label : argumentsLine(call.arguments)}</span>
          <span className="st">
            <CallState call={call} />
            {!isLive && <Icon name={isOpen ? "down" : "right"} size={12} />}
          </span>
        </button>
        {isOpen && !isLive && (edit ? <Edit before={edit.before} after={edit.after} /> : null)}
        {isOpen && !isLive && (!edit || call.state !== "done") && <Details call={call} />}
      </section>
    );
  },
  (a, b) => a.call.state === b.call.state && a.call.arguments === b.call.arguments && a.call.result === b.call.result && a.call.name === b.call.name,
);

function CallState({ call }: { call: ShownCall }) {
  switch (call.state) {
    case "writing":
      return <span>writing arguments</span>;
    case "running":
      return <span>running</span>;
    case "failed":
      return <span className="danger row"><Icon name="x" size={12} />failed</span>;
    case "denied":
      return <span className="tag bad">denied by you</span>;
    case "approved":
      return <><span className="tag ok">approved by you</span><Icon name="check" size={12} className="ok" /></>;
    case "unknown":
      return <span className="tag warn">outcome unknown</span>;
    default:
      return <Icon name="check" size={12} className="ok" />;
  }
}

function Details({ call }: { call: ShownCall }) {
  const { result } = call;
  return (
    <dl className="io">
      <dt>Call</dt>
      <dd><Arguments json={call.arguments} /></dd>
      {call.reason && <><dt>Reason</dt><dd className="said">{call.reason}</dd></>}
      {result && <><dt>Return</dt><dd className={`said ${result.failed ? "danger" : ""}`}><Long text={result.text} /></dd></>}
      {result?.stdout && <><dt>Output</dt><dd className="said"><Long text={result.stdout} /></dd></>}
      {result?.stderr && <><dt>Errors</dt><dd className="said danger"><Long text={result.stderr} /></dd></>}
    </dl>
  );
}

function Long({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  if (isWhole || text.length <= LONG) return text || "(nothing)";
  return <>{text.slice(0, LONG)}… <button className="link" onClick={() => setWhole(true)}>Show all {text.length.toLocaleString("en-GB")} characters</button></>;
}

function Arguments({ json }: { json: string }) {
  let given: Record<string, unknown>;
  try {
    given = JSON.parse(json) as Record<string, unknown>;
  } catch {
    return <>{json}</>;
  }
  const entries = Object.entries(given);
  if (!entries.length) return <span className="mut">no arguments</span>;
  return (
    <>
      {entries.map(([name, value], at) => (
        <span key={name} className="arg">
          {name}: <span className={typeof value === "string" ? "s" : typeof value === "number" ? "n_" : "w"}>{JSON.stringify(value)}</span>
          {at < entries.length - 1 && ", "}
        </span>
      ))}
    </>
  );
}

/** What a memory tool changed, to be shown as such and not as JSON. */
function editOf(call: ShownCall): { label: string; before: string; after: string } | null {
  if (!/^(memory_(insert|replace|rethink)|core_memory_(append|replace))$/.test(call.name)) return null;
  try {
    const { label, old_string, new_string, old_content, new_content, content, new_memory } = JSON.parse(call.arguments) as Record<string, string | undefined>;
    const after = new_string ?? new_content ?? content ?? new_memory;
    if (after === undefined) return null;
    return { label: label ?? "", before: old_string ?? old_content ?? "", after };
  } catch {
    return null;
  }
}

function Edit({ before, after }: { before: string; after: string }) {
  return (
    <div className="edit">
      {diffWords(before, after).map((piece, at) => (piece.kind === "ins" ? <ins key={at}>{piece.text}</ins> : piece.kind === "del" ? <del key={at}>{piece.text}</del> : <span key={at}>{piece.text}</span>))}
    </div>
  );
}
