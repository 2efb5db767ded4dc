/* What each model can do, found out by asking it. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { CatalogueModel, Price } from "@/api/providers";
import { pricesQuery } from "@/api/providers";
import { Icon, type Glyph } from "@/components/Icon";
import { Empty } from "@/components/Note";
import { type Probed, probes, TASKS, type Verdict, verdictOf } from "@/features/models/probes";
import { titleOf } from "@/features/models/providerNames";
import type { Probing } from "@/features/models/useProbing";
import { count, duration, UNKNOWN, when } from "@/lib/format";
import { useStore } from "@/lib/store";

const CELLS: Record<Verdict, readonly [Glyph, string]> = { y: ["check", "works"], x: ["x", "failed"], o: ["check", "worked earlier"], q: ["q", "not probed"] };

export function Cell({ verdict, title }: { verdict: Verdict; title?: string | undefined }) {
  const [icon, words] = CELLS[verdict];
  return <span className={`cell ${verdict}`} title={title ?? words}><Icon name={icon} size={12} /><span className="vh">{words}</span></span>;
}

export function Matrix({ models, probing }: { models: readonly CatalogueModel[]; probing: Probing }) {
  const [query, setQuery] = useState("");
  const prices = useQuery(pricesQuery);
  const known = useStore(probes);
  const shown = models.filter((each) => each.handle.toLowerCase().includes(query.trim().toLowerCase()));
  const groups = [...new Set(shown.map((each) => each.provider_name))];
  return (
    <>
      <div className="row matrixhead">
        <h2>What each model can do</h2>
        <span className="mut">measured by asking it, not read from a list</span>
        <span className="end" />
        <span className="row meta key">{(["y", "x", "o", "q"] as const).map((each) => <span key={each} className="row"><Cell verdict={each} />{CELLS[each][1]}</span>)}</span>
        <label className="field filter"><Icon name="search" size={14} /><input placeholder="Filter models" aria-label="Filter models" value={query} onChange={(event) => setQuery(event.target.value)} /></label>
      </div>
      {shown.length ? (
        <div className="panel matrixbox" tabIndex={0} role="group" aria-label="Models">
          <table className="matrix">
            <thead>
              <tr><th>Model</th><th className="r">Window</th>{TASKS.map(([task, label]) => <th key={task} title={task}>{label}</th>)}<th className="r">First token</th><th className="r">Tokens a second</th><th className="r">In / out per million</th><th><span className="vh">Probe</span></th></tr>
            </thead>
            {groups.map((group) => (
              <tbody key={group}>
                <tr className="grp"><td colSpan={TASKS.length + 6}>{titleOf(group)}</td></tr>
                {shown.filter((each) => each.provider_name === group).map((model) => <ModelRow key={model.handle} model={model} probed={known[model.handle]} price={prices.data?.[model.handle]} probing={probing} />)}
              </tbody>
            ))}
          </table>
        </div>
      ) : <Empty title={query ? `No model is called “${query}”` : "No model can be reached"}>{query ? "Try a part of its name." : "Add a provider with a key, or start a local server such as Ollama; its models then appear here."}</Empty>}
    </>
  );
}

function ModelRow({ model, probed, price, probing }: { model: CatalogueModel; probed: Probed | undefined; price: Price | undefined; probing: Probing }) {
  const isOn = probing.current === model.handle;
  const isQueued = probing.queue.includes(model.handle);
  const error = probing.errors[model.handle];
  return (
    <>
      <tr>
        <td><code className="small">{model.handle}</code></td>
        <td className="r">{count(model.max_context_window)}</td>
        {TASKS.map(([task]) => {
          const found = probed?.tasks.find((each) => each.task === task);
          return <td key={task}><Cell verdict={verdictOf(probed, task)} title={found ? `${found.passed ? "worked" : "failed"} ${when(probed?.at)}: ${found.detail}` : undefined} /></td>;
        })}
        <td className="r">{probed?.first_token_s != null ? duration(probed.first_token_s * 1000) : UNKNOWN}</td>
        <td className="r">{probed?.tokens_per_s != null ? count(probed.tokens_per_s) : UNKNOWN}</td>
        <td className="r dim">{priceOf(model, price)}</td>
        <td><button className="btn sm" disabled={isOn || isQueued} title={probed ? `${probed.suits.advice} Probed ${when(probed.at)}.` : "Eight small requests"} onClick={() => probing.start([model.handle])}>{isOn ? "Asking…" : isQueued ? "Waits" : probed ? "Again" : "Probe"}</button></td>
      </tr>
      {error && <tr><td colSpan={TASKS.length + 6} className="danger small proberror" role="alert">{error}</td></tr>}
    </>
  );
}

function dollars(value: number): string {
  return Number.isInteger(value) ? `$${value}` : `$${value.toFixed(value < 0.1 ? 3 : 2)}`;
}

function priceOf(model: CatalogueModel, price: Price | undefined): string {
  if (price) return `${dollars(price.prompt)} / ${dollars(price.completion)}`;
  return ["local", "ollama", "lmstudio_openai", "llamacpp", "vllm", "sglang"].includes(model.provider_type) ? "free" : UNKNOWN;
}
