/* Makes a key and shows it once. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createKey, keysQuery, type Role } from "@/api/access";
import { CopyButton, NumberField, Select } from "@/components/controls";
import { Dialog } from "@/components/Dialog";
import { Failure } from "@/components/Failure";
import { Note } from "@/components/Note";
import { rolesUpTo } from "@/features/settings/roles";

const ENDS = [["", "never"], ["7", "in a week"], ["30", "in 30 days"], ["90", "in 90 days"], ["365", "in a year"]] as const;
const SCOPES = [["", "everything of the organisation"], ["agent", "one agent"], ["project", "one project"]] as const;
const DAY_MS = 86_400_000;

export function NewKeyDialog({ mostRole, onClose }: { mostRole: Role; onClose: () => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("user");
  const [scope, setScope] = useState<"" | "agent" | "project">("");
  const [part, setPart] = useState("");
  const [days, setDays] = useState("90");
  const [rate, setRate] = useState<number | null>(null);
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: () =>
      createKey({
        name: name.trim(),
        role,
        scope: scope ? { type: scope, id: part.trim() } : null,
        expires_at: days ? new Date(Date.now() + Number(days) * DAY_MS).toISOString() : null,
        requests_per_minute: rate,
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: keysQuery.queryKey }),
  });
  if (make.data)
    return (
      <Dialog label={`The key ${make.data.name}`} onClose={onClose}>
        <div className="body form">
          <Note tone="warn" role="status"><b>Copy it now.</b> It is shown this once, and kept nowhere but with you.</Note>
          <div className="newkey"><code className="code wrapped" aria-label="The key">{make.data.key}</code><CopyButton text={make.data.key} label="Copy the key" className="btn">Copy</CopyButton></div>
        </div>
        <div className="foot"><button className="btn primary" onClick={onClose}>Done</button></div>
      </Dialog>
    );
  return (
    <Dialog label="New key" onClose={onClose}>
      <form onSubmit={(event) => { event.preventDefault(); make.mutate(); }}>
        <div className="body form">
          <label><span className="formlab">Name <span className="mut">what it is for</span></span><span className="field"><input autoFocus value={name} maxLength={200} placeholder="Laptop, shop bot, …" onChange={(event) => setName(event.target.value)} /></span></label>
          <span className="formlab">May</span>
          <Select label="May" value={role} options={rolesUpTo(mostRole)} onChange={(next) => setRole(next as Role)} />
          <span className="formlab">Opens</span>
          <Select label="Opens" value={scope} options={SCOPES} onChange={(next) => setScope(next as typeof scope)} />
          {scope && <label><span className="formlab">Id of the {scope}</span><span className="field"><input className="mono" value={part} placeholder={scope === "agent" ? "agent-…" : ""} onChange={(event) => setPart(event.target.value)} /></span></label>}
          <span className="formlab">Expires</span>
          <Select label="Expires" value={days} options={ENDS} onChange={setDays} />
          <span className="formlab">Requests a minute <span className="mut">empty for the server’s own limit</span></span>
          <NumberField label="Requests a minute" value={rate} min={1} max={1_000_000} onSave={setRate} />
          {make.error && <Failure what="Not made." error={make.error} />}
        </div>
        <div className="foot">
          <button className="btn primary" disabled={!name.trim() || (scope !== "" && !part.trim()) || make.isPending}>{make.isPending ? "Making…" : "Make the key"}</button>
          <button type="button" className="btn quiet" onClick={onClose}>Cancel</button>
        </div>
      </form>
    </Dialog>
  );
}
