import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import type { Agent } from "@/api/agents";
import { describe } from "@/api/errors";
import { createSchedule, deleteSchedule, type Schedule, schedulesQuery, wordsOf } from "@/api/schedules";
import { Segments } from "@/components/controls";
import { Dialog } from "@/components/Dialog";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Note } from "@/components/Note";
import { Section } from "@/features/agent-settings/Section";
import type { Saving } from "@/features/agent-settings/useSaving";
import { exactly, when } from "@/lib/format";

const NAME = "Schedules";
const HOUR_MS = 3_600_000;

export function SchedulesSection({ agent, saving }: { agent: Agent; saving: Saving }) {
  const [isAdding, setAdding] = useState(false);
  const found = useQuery(schedulesQuery(agent.id));
  const schedules = found.data?.scheduled_messages ?? [];
  const soonest = schedules.map((each) => each.next_scheduled_time).filter((each) => each !== null).sort()[0];
  return (
    <Section name={NAME} value={found.data ? (soonest ? `next ${when(soonest)}` : "none") : "–"} isSaved={saving.saved === NAME}>
      {found.isError && <Failure error={found.error} what="The schedules could not be loaded." onRetry={() => void found.refetch()} />}
      <ul className="plans">
        {schedules.map((each) => (
          <li key={each.id}>
            <Icon name={each.schedule.type === "recurring" ? "refresh" : "history"} size={14} />
            <span className="grow">
              <span className="cut" title={wordsOf(each)}>{wordsOf(each)}</span>
              <Times schedule={each} />
            </span>
            <button className="icon sm" aria-label={`Delete the schedule “${wordsOf(each)}”`} title="Delete" onClick={() => void saving.run(NAME, () => deleteSchedule(agent.id, each.id))}><Icon name="x" size={12} /></button>
          </li>
        ))}
      </ul>
      {found.data && !schedules.length && <p className="small mut">Say something to the agent later: once, or again and again.</p>}
      {found.data?.has_next_page && <p className="small mut">The newest hundred are shown.</p>}
      <div><button className="btn sm" onClick={() => setAdding(true)}><Icon name="plus" size={14} />Add a schedule</button></div>
      {isAdding && <AddSchedule agent={agent} onClose={() => setAdding(false)} onAdd={(work) => saving.run(NAME, work)} />}
    </Section>
  );
}

function Times({ schedule }: { schedule: Schedule }) {
  const timing = schedule.schedule;
  const next = schedule.next_scheduled_time;
  return (
    <>
      {timing.type === "recurring" && <span className="small mut"><code>{timing.cron_expression}</code> {timing.timezone}</span>}
      <span className="small mut" title={exactly(next)}>
        {next && `next ${when(next)}`}
        {next && schedule.last_run_id && " · "}
        {schedule.last_run_id && <Link href={paths.run(schedule.last_run_id)}>ran {when(schedule.last_run_at)}</Link>}
      </span>
    </>
  );
}

function AddSchedule({ agent, onClose, onAdd }: { agent: Agent; onClose: () => void; onAdd: (work: () => Promise<unknown>) => Promise<boolean> }) {
  const [text, setText] = useState("");
  const [kind, setKind] = useState<"once" | "again">("once");
  const [at, setAt] = useState(() => localTime(new Date(Date.now() + HOUR_MS)));
  const [cron, setCron] = useState("0 9 * * MON-FRI");
  const [error, setError] = useState<unknown>(null);
  const add = async () => {
    setError(null);
    try {
      await createSchedule(agent.id, text.trim(), kind === "once" ? { type: "one-time", scheduled_at: new Date(at).getTime() } : { type: "recurring", cron_expression: cron.trim() });
      void onAdd(() => Promise.resolve());
      onClose();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog label="Add a schedule" onClose={onClose}>
      <form
        className="body stack"
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <div><label className="formlab" htmlFor="p-text">What is said to {agent.name}</label><textarea id="p-text" className="field" rows={3} required autoFocus value={text} onChange={(event) => setText(event.target.value)} /></div>
        <div className="row"><Segments label="How often" value={kind} options={[["once", "Once"], ["again", "Again and again"]]} onChange={setKind} /></div>
        {kind === "once" ? (
          <div><label className="formlab" htmlFor="p-at">When, on your clock</label><span className="field"><input id="p-at" type="datetime-local" required value={at} onChange={(event) => setAt(event.target.value)} /></span></div>
        ) : (
          <div>
            <label className="formlab" htmlFor="p-cron">Cron expression, on the clock of {agent.timezone ?? "UTC"}</label>
            <span className="field"><input id="p-cron" className="mono" required value={cron} onChange={(event) => setCron(event.target.value)} /></span>
            <p className="small mut">Minute, hour, day of the month, month, day of the week.</p>
          </div>
        )}
        {error !== null && <Note tone="bad" role="alert"><b>Nothing was scheduled.</b> {describe(error)}</Note>}
        <div className="row"><button className="btn primary" disabled={!text.trim()}>Add</button></div>
      </form>
    </Dialog>
  );
}

/** As the browser's own field wants it. */
function localTime(moment: Date): string {
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
