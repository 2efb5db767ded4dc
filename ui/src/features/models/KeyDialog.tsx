/* Adds a provider, or gives one another key. The key is tried before it is kept, if one likes. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { addProvider, checkAccess, type Provider, replaceKey } from "@/api/providers";
import { Select } from "@/components/controls";
import { Dialog } from "@/components/Dialog";
import { Failure } from "@/components/Failure";
import { Note } from "@/components/Note";
import { ADDABLE, NEEDS_NO_KEY } from "@/features/models/providerNames";
import { toast } from "@/lib/toasts";

export function KeyDialog({ provider, onClose }: { provider?: Provider; onClose: () => void }) {
  const [kind, setKind] = useState(provider?.provider_type ?? "openai");
  const [name, setName] = useState("");
  const [key, setKey] = useState("");
  const [address, setAddress] = useState(provider?.base_url ?? "");
  const queries = useQueryClient();
  const api_key = key.trim() || (NEEDS_NO_KEY.has(kind) ? "none" : "");
  const base_url = address.trim() || null;
  const check = useMutation({ mutationFn: () => checkAccess({ provider_type: kind, api_key, base_url }) });
  const save = useMutation({
    mutationFn: () => (provider ? replaceKey(provider.id, api_key) : addProvider({ name: name.trim() || kind, provider_type: kind, api_key, base_url })),
    onSuccess: async (saved) => {
      await Promise.all([queries.invalidateQueries({ queryKey: ["providers"] }), queries.invalidateQueries({ queryKey: ["models"] })]);
      toast(provider ? `${saved.name} has another key.` : `${saved.name} is added.`);
      onClose();
    },
  });
  return (
    <Dialog label={provider ? `Another key for ${provider.name}` : "Add a provider"} onClose={onClose}>
      <form onSubmit={(event) => { event.preventDefault(); save.mutate(); }}>
        <div className="body form">
          {!provider && (
            <>
              <span className="formlab">Provider</span>
              <Select label="Provider" value={kind} options={ADDABLE} onChange={(next) => { setKind(next); check.reset(); }} />
              <label><span className="formlab">Name <span className="mut">the first part of its models’ handles</span></span><span className="field"><input value={name} placeholder={kind} onChange={(event) => setName(event.target.value)} /></span></label>
            </>
          )}
          <label><span className="formlab">Key {NEEDS_NO_KEY.has(kind) && <span className="mut">if it wants one</span>}</span><span className="field"><input type="password" autoComplete="off" autoFocus value={key} placeholder="Sent once, kept encrypted, never shown again" onChange={(event) => { setKey(event.target.value); check.reset(); }} /></span></label>
          {!provider && <label><span className="formlab">Address <span className="mut">if it is not the usual one</span></span><span className="field"><input className="mono" value={address} placeholder="https://…/v1" onChange={(event) => { setAddress(event.target.value); check.reset(); }} /></span></label>}
          {check.data && <Note tone="ok" role="status"><b>It works.</b> {check.data.message}</Note>}
          {check.error && <Failure what="It does not work." error={check.error} />}
          {save.error && <Failure what="Not saved." error={save.error} />}
        </div>
        <div className="foot">
          <button className="btn primary" disabled={!api_key || save.isPending}>{save.isPending ? "Saving…" : provider ? "Save the key" : "Add"}</button>
          <button type="button" className="btn" disabled={!api_key || check.isPending} onClick={() => check.mutate()}>{check.isPending ? "Checking…" : "Check first"}</button>
          <button type="button" className="btn quiet" onClick={onClose}>Cancel</button>
        </div>
      </form>
    </Dialog>
  );
}
