/* One run: how it went in figures, where its time went, and each step to the letter. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { agentQuery } from "@/api/agents";
import { describe } from "@/api/errors";
import { cancelRun, isActive, listRuns, type Run, type RunDetail, runQuery } from "@/api/runs";
import { CopyButton } from "@/components/controls";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import { Note } from "@/components/Note";
import { exportRun } from "@/features/runs/exporting";
import { lookOf } from "@/features/runs/state";
import { StepDetail } from "@/features/runs/StepDetail";
import { TimelineTable } from "@/features/runs/TimelineTable";
import { count, duration, exactly, fromNs, money, share, shortId, when } from "@/lib/format";
import { toast } from "@/lib/toasts";

export function RunPane({ id }: { id: string }) {
  const found = useQuery(runQuery(id));
  const [chosen, setChosen] = useState<string | null>(null);
  const detail = found.data;
  const now = useNow(detail !== undefined && isActive(detail.run));
  const step = detail?.steps.find((each) => each.id === chosen) ?? detail?.steps.find((each) => each.status === "failed") ?? detail?.steps[0];
  return (
    <section className="main" aria-label="Run">
      {found.error && !detail && <div className="wrap"><Failure what="This run cannot be read." error={found.error} onRetry={() => void found.refetch()} /></div>}
      {found.isPending && <Loading lines={4} />}
      {detail && (
        <>
          <Head detail={detail} />
          <Stats detail={detail} now={now} />
          <Problems detail={detail} />
          <TimelineTable detail={detail} now={now} chosen={step?.id ?? null} onChoose={setChosen} />
          <div className="wfkey">
            <span><i className="bar_ wait" />model, before first token</span>
            <span><i className="bar_ model" />model, writing</span>
            <span><i className="bar_ tool" />tool</span>
            <span><i className="bar_ db" />database</span>
          </div>
          <StepDetail detail={detail} step={step} />
        </>
      )}
    </section>
  );
}

/** Ticks while something is under way, four times a second. */
function useNow(isLive: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isLive) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [isLive]);
  return now;
}

function Head({ detail: { run, ...rest } }: { detail: RunDetail }) {
  const look = lookOf(run);
  const agent = useQuery({ ...agentQuery(run.agent_id), retry: false });
  const next = useQuery({ queryKey: ["run", run.id, "next"], queryFn: () => findNext(run), enabled: run.stop_reason === "requires_approval" });
  const stop = useMutation({ mutationFn: () => cancelRun(run), onError: (error) => toast(`It cannot be stopped. ${describe(error)}`, { tone: "bad" }) });
  const chat = run.conversation_id ? paths.conversation(run.agent_id, run.conversation_id) : paths.agent(run.agent_id);
  const tone = look.dot === "run" ? "acc" : look.dot === "idle" ? "" : look.dot;
  return (
    <div className="panebar runhead">
      <h1 className="h2">Run</h1>
      <span className="mono small mut">{shortId(run.id)}</span>
      <CopyButton text={run.id} label="Copy id" />
      <span className={`tag ${tone}`}>{look.dot === "warn" && <Icon name="shield" size={12} />}{look.words}</span>
      {next.data && <Link className="small nowrap" href={paths.run(next.data.id)}>continues in {shortId(next.data.id)}</Link>}
      <span className="end" />
      {isActive(run) && <button className="btn sm bad" disabled={stop.isPending} onClick={() => stop.mutate()}><Icon name="stop" size={12} />{stop.isPending ? "Stopping…" : "Stop run"}</button>}
      {agent.data && <Link className="btn sm" href={chat}>Open {agent.data.name}</Link>}
      <button className="btn sm" onClick={() => void exportRun({ run, ...rest }).catch((error: unknown) => toast(describe(error), { tone: "bad" }))}><Icon name="dl" size={14} /><span className="long">Export trace</span></button>
    </div>
  );
}

/** The answer to an approval starts a new run: the one after this one in the same history. */
async function findNext(run: Run): Promise<Run | null> {
  const later = await listRuns({ agent: run.agent_id, state: "all" }, null);
  const at = later.findIndex((each) => each.id === run.id);
  return later.slice(0, Math.max(0, at)).findLast((each) => (each.conversation_id ?? null) === (run.conversation_id ?? null)) ?? null;
}

function Stats({ detail: { run, steps, spans }, now }: { detail: RunDetail; now: number }) {
  const sum = (pick: (step: (typeof steps)[number]) => number | null | undefined) => (steps.some((step) => pick(step) != null) ? steps.reduce((all, step) => all + (pick(step) ?? 0), 0) : null);
  const [tokensIn, out, cached, thought, cost] = [sum((each) => each.prompt_tokens), sum((each) => each.completion_tokens), sum((each) => each.cached_input_tokens), sum((each) => each.reasoning_tokens), sum((each) => each.cost_usd)];
  const spent = fromNs(run.total_duration_ns) ?? (isActive(run) ? now - Date.parse(run.created_at) : null);
  const outside = spans.filter((each) => each.name === "model" || each.name === "tools").reduce((all, each) => all + (each.duration_ns ?? 0) / 1e6, 0);
  const own = isActive(run) || spent === null || !steps.length || run.status === "failed" ? null : Math.max(0, spent - outside);
  return (
    <dl className="stats">
      <div><dt>Started</dt><dd title={exactly(run.created_at)}>{new Date(run.created_at).toLocaleTimeString("en-GB")} <small>{when(run.created_at).replace(/\d\d:\d\d/, "").trim() || "today"}</small></dd></div>
      <div><dt>Duration</dt><dd>{duration(spent)}</dd></div>
      <div><dt>First token</dt><dd>{duration(fromNs(run.ttft_ns))}</dd></div>
      <div><dt>Tokens in</dt><dd>{count(tokensIn)} {!!tokensIn && <small>{share(cached ?? 0, tokensIn)} from cache</small>}</dd></div>
      <div><dt>Tokens out</dt><dd>{count(out)} {!!thought && <small>{count(thought)} reasoning</small>}</dd></div>
      <div><dt>Cost</dt><dd>{money(cost)}</dd></div>
      {own !== null && <div><dt>Server itself</dt><dd>{duration(own)} {!!spent && <small>{((own / spent) * 100).toFixed(1)} %</small>}</dd></div>}
    </dl>
  );
}

function Problems({ detail: { run, steps } }: { detail: RunDetail }) {
  const failed = steps.filter((each) => each.status === "failed" && each.error_data?.message);
  const words = [...new Set([...failed.map((each) => each.error_data?.message ?? ""), ...(run.status === "failed" && run.metadata?.error ? [run.metadata.error] : [])])];
  if (!words.length) return null;
  return (
    <div className="problems">
      <Note tone="bad"><b>The run failed.</b> {words[0]} <span className="dim">What was said before is saved.</span></Note>
    </div>
  );
}
