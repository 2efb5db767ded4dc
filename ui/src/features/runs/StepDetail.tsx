/* One step to the letter: request and response, the messages of the run, and what it wrote to memory. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { revisionsOfRun } from "@/api/blocks";
import { type RunDetail, type RunMessage, type Step, traceQuery } from "@/api/runs";
import { serverQuery } from "@/api/server";
import { CopyButton, Tabs } from "@/components/controls";
import { Failure } from "@/components/Failure";
import { Icon, type Glyph } from "@/components/Icon";
import { Json } from "@/components/Json";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import { Empty, Note } from "@/components/Note";
import { glyphOf } from "@/features/runs/timeline";
import { bytes, duration, exactly, when } from "@/lib/format";

type Tab = "raw" | "messages" | "edits";

export function StepDetail({ detail, step }: { detail: RunDetail; step: Step | undefined }) {
  const [tab, setTab] = useState<Tab>("raw");
  const edits = useQuery({ ...revisionsOfRun(detail.run.id), refetchInterval: detail.run.status === "running" ? 2000 : false });
  const number = step ? detail.steps.indexOf(step) + 1 : 0;
  return (
    <>
      <Tabs
        label="Of this run"
        value={tab}
        onChange={setTab}
        tabs={[
          { id: "raw", label: step ? `Step ${number}: request and response` : "Request and response" },
          { id: "messages", label: "Messages", count: detail.messages.length },
          { id: "edits", label: "Memory edits", count: edits.data?.length ?? "" },
        ]}
      />
      <div className="stepbody" role="tabpanel" id={`panel-${tab}`} aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {tab === "raw" && (step ? <Exchange step={step} /> : <div className="pad"><Empty title="No step yet">A step is written down when the model has answered and its calls are made.</Empty></div>)}
        {tab === "messages" && <Messages detail={detail} step={step} />}
        {tab === "edits" && (
          <ul className="runmsgs">
            {edits.data?.map((each) => (
              <li key={`${each.block_id} ${each.revision}`}>
                <Icon name="block" size={14} />
                {each.block_id ? <Link href={`${paths.blockHistory(each.block_id)}?r=${each.revision}`}>r{each.revision}</Link> : <span>passage</span>}
                <span className="cut grow">{each.reason ?? each.action}</span>
                <span className={`delta ${each.chars_added > 0 ? "ok" : each.chars_added < 0 ? "danger" : "mut"}`}>{signed(each.chars_added)}</span>
              </li>
            ))}
            {edits.data && !edits.data.length && <li className="mut">This run wrote nothing to memory.</li>}
          </ul>
        )}
      </div>
    </>
  );
}

export function signed(chars: number): string {
  return chars > 0 ? `+${chars}` : chars < 0 ? `−${-chars}` : "±0";
}

function Exchange({ step }: { step: Step }) {
  const trace = useQuery(traceQuery(step.id));
  const server = useQuery(serverQuery);
  if (trace.isPending) return <Loading />;
  if (trace.error) return <div className="pad"><Failure what="The exchange cannot be read." error={trace.error} onRetry={() => void trace.refetch()} /></div>;
  if (!trace.data) {
    return (
      <div className="pad">
        <Note>
          <b>The exchange with the model was not kept for this step.</b>{" "}
          {server.data?.traces === "all"
            ? `The server keeps exchanges for ${server.data.trace_days} days; this one is older or was cut short.`
            : <>The server keeps {server.data?.traces === "off" ? "none" : "those of failed steps only"}. Start it with <code>REMANENCE_TRACES=all</code> to keep the exchange of every step{server.data ? ` for ${server.data.trace_days} days` : ""}.</>}
        </Note>
      </div>
    );
  }
  const [asked, said] = [JSON.stringify(trace.data.request_json, null, 2), JSON.stringify(trace.data.response_json, null, 2)];
  return (
    <div className="exchange">
      <div>
        <div className="row head"><b className="small">Request</b><span className="meta">{step.model_handle ?? step.model} · {bytes(asked.length)}</span><span className="end" /><CopyButton className="btn sm quiet" label="Copy the request" text={asked}>Copy</CopyButton></div>
        <div className="scroll grow" tabIndex={0} role="group" aria-label="Request"><Json value={trace.data.request_json} /></div>
      </div>
      <div>
        <div className="row head"><b className="small">Response</b><span className="meta">{step.status === "failed" ? "failed" : "answered"}{trace.data.latency_ms !== null && ` · ${duration(trace.data.latency_ms)}`}</span><span className="end" /><CopyButton className="btn sm quiet" label="Copy the response" text={said}>Copy</CopyButton></div>
        <div className="scroll grow" tabIndex={0} role="group" aria-label="Response"><Json value={trace.data.response_json} openTo={2} /></div>
      </div>
    </div>
  );
}

const KINDS: Record<string, readonly [Glyph, string]> = {
  user_message: ["user", "user"],
  assistant_message: ["agent", "agent"],
  reasoning_message: ["thought", "thought"],
  hidden_reasoning_message: ["thought", "thought, hidden"],
  tool_call_message: ["tool", "call"],
  tool_return_message: ["check", "return"],
  approval_request_message: ["shield", "asks"],
  approval_response_message: ["shield", "answer"],
  system_message: ["info", "system"],
  summary_message: ["squeeze", "summary"],
};

function Messages({ detail: { run, messages, steps }, step }: { detail: RunDetail; step: Step | undefined }) {
  const chat = run.conversation_id ? paths.conversation(run.agent_id, run.conversation_id) : paths.agent(run.agent_id);
  return (
    <ul className="runmsgs">
      {messages.map((each, at) => {
        const [icon, kind] = KINDS[each.message_type] ?? (["chat", each.message_type.replaceAll("_", " ")] as const);
        const number = steps.findIndex((other) => other.id === each.step_id) + 1;
        return (
          <li key={`${each.id} ${at}`} className={step && each.step_id === step.id ? "on" : undefined}>
            <Icon name={each.message_type === "tool_call_message" ? glyphOf(each.tool_call?.name ?? "") : icon} size={14} />
            <span className="kind">{kind}</span>
            <span className="grow text">{textOf(each)}</span>
            {number > 0 && <span className="meta">step {number}</span>}
            <Link className="meta" href={`${chat}?message=${each.id}`} title={exactly(each.date)}>{when(each.date)}</Link>
          </li>
        );
      })}
      {!messages.length && <li className="mut">No messages are left of this run.</li>}
    </ul>
  );
}

function textOf(message: RunMessage): string {
  const calls = message.tool_calls ?? (message.tool_call ? [message.tool_call] : []);
  if (calls.length && message.message_type !== "tool_return_message") return calls.map((each) => `${each.name}(${each.arguments ?? ""})`).join(" ");
  if (message.tool_return !== undefined) return `${message.name ?? ""}: ${typeof message.tool_return === "string" ? message.tool_return : JSON.stringify(message.tool_return)}`;
  if (typeof message.content === "string") return message.content;
  if (message.content) return message.content.map((each) => each.text ?? `[${each.type}]`).join(" ");
  return message.reasoning ?? message.summary ?? "";
}
