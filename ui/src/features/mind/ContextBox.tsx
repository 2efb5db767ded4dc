import { useState } from "react";
import type { ContextOverview } from "@/api/agents";
import { sectionsOf } from "@/api/context";
import { ContextBar, SECTION_LABELS, type SectionName } from "@/components/ContextBar";
import { Note } from "@/components/Note";
import { partsOf } from "@/features/mind/parts";
import { count, share } from "@/lib/format";

/** Where older messages leave the window, if the server was not told otherwise. */
const MARK = 0.9;
const LEGEND: readonly SectionName[] = ["system", "summary", "tools", "messages", "blocks", "free", "files"];

interface Props {
  overview: ContextOverview;
  blocks: readonly { label: string; value: string; description: string | null }[];
  onOpen: (section: SectionName) => void;
}

export function ContextBox({ overview, blocks, onOpen }: Props) {
  const [chosen, setChosen] = useState<SectionName | null>(null);
  const sections = sectionsOf(overview);
  const { context_window_size_current: used, context_window_size_max: max } = overview;
  const fixed = sections.system + sections.tools + sections.blocks + sections.files;
  const parts = chosen ? partsOf(chosen, overview, blocks, sections[chosen]) : [];
  const largest = Math.max(1, ...parts.map((part) => part.tokens));
  return (
    <div className="ctxbox" onPointerLeave={() => setChosen(null)}>
      <div className="ttl">
        <h2>Context window</h2>
        <span className="big"><b>{count(used)}</b> of {count(max)} tokens, {share(used, max)}</span>
      </div>
      <ContextBar sections={sections} used={used} max={max} mark={MARK} chosen={chosen} onHover={setChosen} onOpen={(name) => name !== "free" && onOpen(name)} />
      <div className="legend">
        {LEGEND.map((name) => (
          <button key={name} className={chosen === name ? "on" : ""} onPointerEnter={() => setChosen(name)} onFocus={() => setChosen(name)} onBlur={() => setChosen(null)} onClick={() => name !== "free" && onOpen(name)}>
            <i className={`sw c-${name}`} />
            {SECTION_LABELS[name]}
            <span className="num">{count(sections[name])}</span>
          </button>
        ))}
        <span className="lim"><i />Compacts at<span className="num">{count(Math.round(max * MARK))}</span></span>
      </div>
      {fixed > max && (
        <Note tone="warn" role="alert"><b>This prompt no longer fits.</b> System, tools and blocks alone take {count(fixed)} of {count(max)} tokens. Raise the window or shorten a block.</Note>
      )}
      {chosen && parts.length > 0 && (
        <div className="pop" role="tooltip">
          <h3><span><i className={`sw c-${chosen}`} /> {SECTION_LABELS[chosen]}</span><span>{count(sections[chosen])} tokens, {share(sections[chosen], max)}</span></h3>
          <ul>
            {parts.slice(0, 12).map((part) => (
              <li key={part.name}><span className="cut">{part.name}</span><span className={`part c-${chosen}`} style={{ width: `${(part.tokens / largest) * 100}%` }} /><span>{count(part.tokens)}</span></li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}
