/* Providers from the environment, and those added here. Keys are sent once and never read back. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { describe } from "@/api/errors";
import { type CatalogueModel, checkProvider, deleteProvider, type Provider } from "@/api/providers";
import { Icon } from "@/components/Icon";
import { Menu } from "@/components/Menu";
import { KeyDialog } from "@/features/models/KeyDialog";
import { NEEDS_NO_KEY, titleOf } from "@/features/models/providerNames";
import { count, UNKNOWN, when } from "@/lib/format";
import { toast } from "@/lib/toasts";

export function Providers({ providers, models }: { providers: readonly Provider[]; models: readonly CatalogueModel[] }) {
  const base = [...new Set(models.filter((each) => each.provider_category === "base").map((each) => each.provider_name))];
  return (
    <div className="panel providersbox" tabIndex={0} role="group" aria-label="Providers">
      <table className="table providers">
        <thead><tr><th>Provider</th><th>Key</th><th>From</th><th>Address</th><th className="r">Models</th><th>State</th><th><span className="vh">Actions</span></th></tr></thead>
        <tbody>
          {base.map((name) => {
            const own = models.filter((each) => each.provider_name === name && each.provider_category === "base");
            const isBuiltIn = name === "local";
            const isFree = isBuiltIn || NEEDS_NO_KEY.has(own[0]?.provider_type ?? "");
            return (
              <tr key={name}>
                <td><span className="row"><i className="dot ok" /><b>{titleOf(name)}</b></span></td>
                <td className="mono small">{isFree ? "no key needed" : "••••••••"}</td>
                <td className="dim">{isBuiltIn ? "part of the server" : isFree ? "found by the server" : "the server’s environment"}</td>
                <td className="mono small dim cut">{isBuiltIn ? "in this process" : (own[0]?.model_endpoint ?? "default")}</td>
                <td className="r">{count(own.length)}</td>
                <td className="dim">models listed</td>
                <td />
              </tr>
            );
          })}
          {providers.map((each) => <OwnProvider key={each.id} provider={each} models={models.filter((model) => model.provider_name === each.name && model.provider_category === "byok").length} />)}
          {!base.length && !providers.length && <tr><td colSpan={7} className="mut">None yet. Add one with its key, or start a local server such as Ollama.</td></tr>}
        </tbody>
      </table>
    </div>
  );
}

function OwnProvider({ provider, models }: { provider: Provider; models: number }) {
  const queries = useQueryClient();
  const [isReplacing, setReplacing] = useState(false);
  const refresh = () => Promise.all([queries.invalidateQueries({ queryKey: ["providers"] }), queries.invalidateQueries({ queryKey: ["models"] })]);
  const check = useMutation({ mutationFn: () => checkProvider(provider.id), onSettled: refresh });
  const remove = useMutation({
    mutationFn: () => deleteProvider(provider.id),
    onSuccess: async () => {
      await refresh();
      toast(`${provider.name} is deleted. Agents with its models need another.`);
    },
    onError: (error) => toast(`Not deleted. ${describe(error)}`, { tone: "bad" }),
  });
  const state = check.isPending ? <span>checking…</span> : check.error ? <span className="danger" role="alert">{describe(check.error)}</span> : check.data ? <span role="status">works, checked {when(new Date())}</span> : provider.last_synced ? `models read ${when(provider.last_synced)}` : "not checked yet";
  return (
    <tr>
      <td><span className="row"><i className={`dot ${check.error ? "bad" : check.data || models ? "ok" : "idle"}`} /><b>{provider.name}</b>{provider.name !== provider.provider_type && <span className="mut small">{titleOf(provider.provider_type)}</span>}</span></td>
      <td className="mono small">••••••••</td>
      <td className="dim">added here, encrypted</td>
      <td className="mono small dim cut">{provider.base_url ?? "default"}</td>
      <td className="r">{models ? count(models) : UNKNOWN}</td>
      <td className="dim state">{state}</td>
      <td>
        <span className="row acts_">
          {check.error ? <button className="btn sm" onClick={() => setReplacing(true)}>Replace key</button> : <button className="btn sm" disabled={check.isPending} onClick={() => check.mutate()}>Check</button>}
          <Menu label={`More for ${provider.name}`} className="icon sm" align="end" items={[{ label: "Check", icon: "refresh", run: () => check.mutate() }, { label: "Replace the key", icon: "key", run: () => setReplacing(true) }, { label: "Delete", icon: "x", danger: true, run: () => remove.mutate() }]}><Icon name="dots" /></Menu>
        </span>
        {isReplacing && <KeyDialog provider={provider} onClose={() => setReplacing(false)} />}
      </td>
    </tr>
  );
}
