import type { Revision } from "@/api/blocks";
import { Icon } from "@/components/Icon";
import { type AuthorGroup, authorOf, glyphOf, GROUPS, reasonOf } from "@/features/memory-history/authors";
import { exactly, when } from "@/lib/format";

interface Props {
  all: readonly Revision[];
  newest: number;
  chosen: number;
  group: AuthorGroup | null;
  onGroup: (group: AuthorGroup | null) => void;
  onChoose: (revision: Revision) => void;
  nameOf: (id: string) => string | undefined;
}

export function RevisionList({ all, newest, chosen, group, onGroup, onChoose, nameOf }: Props) {
  return (
    <section className="pane revisions" aria-label="Revisions">
      <div className="row revfilter">
        <div className="chips" role="group" aria-label="Written by">
          <button className="chip" aria-pressed={group === null} onClick={() => onGroup(null)}>All</button>
          {GROUPS.map(([name, label, icon]) => <button key={name} className="chip" aria-pressed={group === name} onClick={() => onGroup(name)}><Icon name={icon} size={12} />{label}</button>)}
        </div>
      </div>
      <div className="tl scroll grow">
        {all.map((each, at) => (
          <button key={each.revision} className={`it ${each.revision === chosen ? "sel" : ""} ${at === all.length - 1 ? "last" : ""}`} aria-current={each.revision === chosen ? "true" : undefined} onClick={() => onChoose(each)}>
            <span className="node"><Icon name={glyphOf(each)} size={14} /></span>
            <span className="what">
              <span className="row"><b>r{each.revision}</b><span className="cut">{authorOf(each, nameOf)}</span>{each.revision === newest && <span className="tag">current</span>}</span>
              <span className="d cut">{reasonOf(each)}</span>
            </span>
            <span className="figures">
              <span className="d nowrap" title={exactly(each.created_at)}>{when(each.created_at)}</span>
              <Change chars={each.action === "create" ? each.chars : each.chars_added} />
            </span>
          </button>
        ))}
        {!all.length && <p className="meta none">Nobody of this kind wrote to it.</p>}
      </div>
    </section>
  );
}

function Change({ chars }: { chars: number }) {
  if (chars === 0) return <span className="delta mut">±0</span>;
  return <span className={`delta ${chars > 0 ? "ok" : "danger"}`}>{chars > 0 ? `+${chars}` : `−${-chars}`}</span>;
}
