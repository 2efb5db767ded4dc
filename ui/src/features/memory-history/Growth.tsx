/* How long the block was after each write: a step line with a point for each. */
import type { Revision } from "@/api/blocks";
import { count, when } from "@/lib/format";

const HEIGHT = 72;
const MARGIN = 8;

export function Growth({ all, chosen, onChoose }: { all: readonly Revision[]; chosen: number; onChoose: (revision: Revision) => void }) {
  const line = all.toReversed();
  const first = line[0];
  const last = line.at(-1);
  if (!first || !last || line.length < 2) return null;
  const most = Math.max(1, ...line.map((each) => each.chars));
  const x = (at: number) => 1 + (at / (line.length - 1)) * 98;
  const y = (chars: number) => HEIGHT - MARGIN - (chars / most) * (HEIGHT - 2 * MARGIN);
  const path = line.map((each, at) => (at === 0 ? `M${x(0) * 10} ${y(each.chars)}` : `H${x(at) * 10} V${y(each.chars)}`)).join(" ");
  return (
    <div className="growthbox">
      <div className="row"><b>Length</b><span className="meta">one point for each revision; choose one, or use the arrow keys</span></div>
      <div className="growthline">
        <svg className="growth" viewBox={`0 0 1000 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`Length of the block over its ${line.length} revisions`}>
          <path d={`${path} V${HEIGHT - 4} H${x(0) * 10} Z`} fill="var(--sunken)" />
          <path d={path} fill="none" stroke="var(--text-3)" strokeWidth="1.5" vectorEffect="non-scaling-stroke" />
        </svg>
        {line.map((each, at) => (
          <span key={each.revision} className={`pt ${each.revision === chosen ? "on" : ""}`} title={`r${each.revision}, ${count(each.chars)} characters`} style={{ left: `${x(at)}%`, top: `${y(each.chars)}px` }} onClick={() => onChoose(each)} />
        ))}
      </div>
      <div className="row meta ends"><span>r{first.revision}, {when(first.created_at)}, {count(first.chars)} characters</span><span>r{last.revision}, {when(last.created_at)}, {count(last.chars)}</span></div>
    </div>
  );
}
