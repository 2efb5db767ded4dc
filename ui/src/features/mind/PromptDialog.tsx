/* The eye: the whole prompt as the model gets it, in the same sections, to read. */
import { useEffect, useRef } from "react";
import type { ContextOverview } from "@/api/agents";
import { sectionsOf } from "@/api/context";
import { SECTION_LABELS, SECTIONS, type SectionName } from "@/components/ContextBar";
import { Dialog } from "@/components/Dialog";
import { textsOf } from "@/features/mind/parts";
import { count } from "@/lib/format";

export function PromptDialog({ overview, section, onClose }: { overview: ContextOverview; section: SectionName | null; onClose: () => void }) {
  const body = useRef<HTMLDivElement>(null);
  const sizes = sectionsOf(overview);
  useEffect(() => {
    if (section) void body.current?.querySelector(`[data-section="${section}"]`)?.scrollIntoView({ block: "start" });
  }, [section]);
  return (
    <Dialog label="What the model sees" className="wide" onClose={onClose}>
      <div className="body prompt" ref={body} tabIndex={0}>
        {SECTIONS.filter((name) => name !== "free" && sizes[name] > 0).map((name) => (
          <section key={name} data-section={name}>
            <h3><i className={`sw c-${name}`} />{SECTION_LABELS[name]} <span className="meta">{count(sizes[name])} tokens</span></h3>
            {textsOf(name, overview).map((each, at) => (
              <div key={at}>
                <div className="sub">{each.title}</div>
                <pre className="code wrapped">{each.text}</pre>
              </div>
            ))}
          </section>
        ))}
      </div>
    </Dialog>
  );
}
