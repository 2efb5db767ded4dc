/* The waterfall: a row for each step, and under it the model, the tools and the database. */
import { useState } from "react";
import type { RunDetail } from "@/api/runs";
import { isActive } from "@/api/runs";
import { Icon } from "@/components/Icon";
import { type Bar, axisLength, buildTimeline, type StepRows } from "@/features/runs/timeline";
import { count, duration, money, share, UNKNOWN } from "@/lib/format";

interface Props {
  detail: RunDetail;
  now: number;
  chosen: string | null;
  onChoose: (stepId: string) => void;
}

const TICKS = [0.25, 0.5, 0.75, 1];

export function TimelineTable({ detail, now, chosen, onChoose }: Props) {
  const timeline = buildTimeline(detail, now);
  const length = axisLength(timeline.totalMs, isActive(detail.run));
  const [shut, setShut] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) => setShut((now_) => (now_.has(id) ? new Set([...now_].filter((each) => each !== id)) : new Set([...now_, id])));
  return (
    <div className="wfbox scroll" tabIndex={0} role="group" aria-label="Timeline">
      <table className="wf">
        <colgroup><col className="c1" /><col className="c2" /><col className="c3" /><col className="c4" /><col className="c5" /><col className="c6" /><col /></colgroup>
        <thead>
          <tr>
            <th>Step</th><th className="r opt">In</th><th className="opt">Cached</th><th className="r opt">Out</th><th className="r opt">Cost</th><th className="r">Time</th>
            <th className="tl_" aria-label={`Time, up to ${duration(length)}`}>{TICKS.map((each) => <span key={each} className="ax" style={{ left: `${each * 100}%` }}>{duration(length * each)}</span>)}</th>
          </tr>
        </thead>
        <tbody>
          {timeline.steps.map((each) => (
            <StepPart key={each.step.id} part={each} length={length} isShut={shut.has(each.step.id)} isChosen={chosen === each.step.id} onToggle={() => toggle(each.step.id)} onChoose={() => onChoose(each.step.id)} />
          ))}
          {timeline.open && (
            <tr className="st">
              <td><span className="row"><i className="dot run" /><span className="cut">Step {timeline.steps.length + 1}</span></span></td>
              <td className="r opt">{UNKNOWN}</td><td className="opt">{UNKNOWN}</td><td className="r opt">{UNKNOWN}</td><td className="r opt">{UNKNOWN}</td>
              <td className="r">{duration(timeline.open.ms)}</td>
              <td className="tl_"><div className="lanes"><BarOf bar={timeline.open} length={length} /><span className="bartxt" style={placeOf([timeline.open], length) ?? {}}>under way</span></div></td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

function StepPart({ part, length, isShut, isChosen, onToggle, onChoose }: { part: StepRows; length: number; isShut: boolean; isChosen: boolean; onToggle: () => void; onChoose: () => void }) {
  const { step } = part;
  const cached = step.prompt_tokens ? (step.cached_input_tokens ?? 0) / step.prompt_tokens : null;
  return (
    <>
      <tr className={`st ${isChosen ? "sel" : ""} ${step.status === "failed" ? "bad" : ""}`} onClick={onChoose}>
        <td>
          <span className="row">
            <button className="icon sm" aria-label={`${isShut ? "Show" : "Hide"} the parts of step ${part.number}`} aria-expanded={!isShut} onClick={(event) => { event.stopPropagation(); onToggle(); }}>
              <Icon name={isShut ? "right" : "down"} size={14} />
            </button>
            <button className="stepname cut" aria-pressed={isChosen} onClick={onChoose}>Step {part.number}</button>
            {step.status === "failed" && <span className="tag bad">failed</span>}
            {step.status === "cancelled" && <span className="tag">stopped</span>}
          </span>
        </td>
        <td className="r opt">{count(step.prompt_tokens)}</td>
        <td className="opt">{cached === null ? UNKNOWN : <span className="cache"><span className="m"><i style={{ width: `${cached * 100}%` }} /></span>{share(step.cached_input_tokens ?? 0, step.prompt_tokens ?? 0)}</span>}</td>
        <td className="r opt">{count(step.completion_tokens)}</td>
        <td className="r opt">{money(step.cost_usd)}</td>
        <td className="r">{duration(part.ms)}</td>
        <td className="tl_"><div className="lanes">{part.bar && <BarOf bar={part.bar} length={length} />}</div></td>
      </tr>
      {!isShut && part.rows.map((row) => {
        const place = placeOf(row.bars, length);
        const note = row.note && <span className="bartxt" style={place ?? {}}>{row.note}</span>;
        return (
          <tr key={row.key} className="kid">
            <td title={row.name}><span className="row"><Icon name={row.icon} size={14} /><span className="cut">{row.name}</span></span></td>
            <td colSpan={4} className="r opt meta">{!place && row.note}</td>
            <td className="r">{row.ms === null ? "not run" : duration(row.ms)}</td>
            <td className="tl_">
              <div className="lanes">
                {row.bars.map((bar) => <BarOf key={bar.kind} bar={bar} length={length} />)}
                {place && note}
              </div>
            </td>
          </tr>
        );
      })}
    </>
  );
}

const part = (ms: number, length: number) => `${Math.min(100, (ms / length) * 100)}%`;

function BarOf({ bar, length }: { bar: Bar; length: number }) {
  return <span className={`bar_ ${bar.kind}`} title={bar.title} style={{ left: part(bar.startMs, length), width: part(bar.ms, length) }} />;
}

/** Where the words go: behind the bars, else before them; null where neither has room. */
function placeOf(bars: readonly Bar[], length: number): { left: string } | { right: string } | null {
  const [first, last] = [bars[0], bars.at(-1)];
  if (!first || !last) return { right: "8px" };
  const end = last.startMs + last.ms;
  if (end / length < 0.7) return { left: `calc(${part(end, length)} + 6px)` };
  return first.startMs / length > 0.3 ? { right: `calc(100% - ${part(first.startMs, length)} + 6px)` } : null;
}
