import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { catalogueQuery, pricesQuery, providersQuery } from "@/api/providers";
import { useCommands } from "@/components/commands";
import { Dialog } from "@/components/Dialog";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { Loading } from "@/components/Loading";
import { KeyDialog } from "@/features/models/KeyDialog";
import { Matrix } from "@/features/models/Matrix";
import { Providers } from "@/features/models/Providers";
import { useProbing } from "@/features/models/useProbing";
import { money, plural } from "@/lib/format";

/* About what a probe takes: eight requests of some hundred tokens each. */
const PROBE_TOKENS_IN = 2500;
const PROBE_TOKENS_OUT = 900;

export function ModelsPage() {
  const models = useQuery(catalogueQuery);
  const providers = useQuery(providersQuery);
  const prices = useQuery(pricesQuery);
  const [isAdding, setAdding] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const probing = useProbing();
  useCommands([{ id: "add provider", group: "Here", label: "Add a provider", icon: "plus", run: () => setAdding(true) }]);
  const all = models.data ?? [];
  const names = new Set([...all.map((each) => each.provider_name), ...(providers.data ?? []).map((each) => each.name)]);
  const priced = all.filter((each) => prices.data?.[each.handle]);
  const cost = priced.reduce((sum, each) => sum + (PROBE_TOKENS_IN * (prices.data?.[each.handle]?.prompt ?? 0) + PROBE_TOKENS_OUT * (prices.data?.[each.handle]?.completion ?? 0)) / 1e6, 0);
  return (
    <div className="wrap wide">
      <div className="pagehead">
        <h1>Models</h1>
        {models.data && <span className="mut">{plural(names.size, "provider")}, {plural(all.length, "model")} reachable</span>}
        <span className="end" />
        {probing.current ? <button className="btn" onClick={probing.stop}>Stop after this one{probing.queue.length ? `, ${probing.queue.length} wait` : ""}</button>
          : <button className="btn" disabled={!all.length} onClick={() => setAsking(true)}><Icon name="refresh" size={14} />Probe all</button>}
        <button className="btn primary" onClick={() => setAdding(true)}><Icon name="plus" size={14} />Add a provider</button>
      </div>
      {models.error && <Failure what="The models cannot be read." error={models.error} onRetry={() => void models.refetch()} />}
      {providers.error && <Failure what="The providers cannot be read." error={providers.error} onRetry={() => void providers.refetch()} />}
      {models.isPending ? <Loading lines={4} /> : models.data && (
        <>
          <Providers providers={providers.data ?? []} models={all} />
          <Matrix models={all} probing={probing} />
        </>
      )}
      {isAdding && <KeyDialog onClose={() => setAdding(false)} />}
      {isAsking && (
        <Dialog label="Probe all models" onClose={() => setAsking(false)}>
          <div className="body">
            <p>Each of the {plural(all.length, "model")} gets about eight small requests, one model after the other; each takes up to a minute.</p>
            <p className="dim">Where the price is known that is about {money(cost)} in all{priced.length < all.length ? `; of ${plural(all.length - priced.length, "model")} no price is known` : ""}.</p>
          </div>
          <div className="foot"><button className="btn primary" onClick={() => { setAsking(false); probing.start(all.map((each) => each.handle)); }}>Probe {plural(all.length, "model")}</button><button className="btn quiet" onClick={() => setAsking(false)}>Cancel</button></div>
        </Dialog>
      )}
    </div>
  );
}
