/* Making an agent: a start, a name, a model, one button. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { createAgent } from "@/api/agents";
import { describe } from "@/api/errors";
import { bestModel, modelsQuery } from "@/api/catalogue";
import { Select } from "@/components/controls";
import { paths } from "@/components/links";
import { Note } from "@/components/Note";
import { STARTS } from "@/features/agents/starts";

export function NewAgent({ suggested, onModel }: { suggested: string; onModel?: (handle: string) => void }) {
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const models = useQuery(modelsQuery);
  const [start, setStart] = useState(STARTS[0]?.id ?? "");
  const [name, setName] = useState(suggested);
  const [chosen, setChosen] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const model = chosen ?? bestModel(models.data ?? [])?.handle ?? "";
  useEffect(() => onModel?.(model), [model, onModel]);

  const create = async () => {
    setBusy(true);
    setError(null);
    try {
      const body = STARTS.find((each) => each.id === start)?.body;
      const made = await createAgent({ ...body, name: name.trim() || suggested, ...(model && { model }) });
      void queries.invalidateQueries({ queryKey: ["agents"] });
      navigate(paths.agent(made.id));
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <div role="radiogroup" aria-label="Start from">
        {STARTS.map((each) => (
          <label key={each.id} className={`pick ${start === each.id ? "on" : ""}`}>
            <input className="vh" type="radio" name="start" value={each.id} checked={start === each.id} onChange={() => setStart(each.id)} />
            <span className="radio" />
            <b>{each.name}</b>
            <p>{each.about}</p>
          </label>
        ))}
      </div>
      <div className="twocols">
        <div>
          <label className="formlab" htmlFor="new-name">Name</label>
          <span className="field">
            <input id="new-name" value={name} maxLength={100} onChange={(event) => setName(event.target.value)} />
          </span>
        </div>
        <div>
          <span className="formlab">Model</span>
          <Select label="Model" icon="chip" value={model} onChange={setChosen} options={(models.data ?? []).map((each) => [each.handle, each.handle] as const)} />
        </div>
      </div>
      {models.data?.length === 0 && <Note tone="warn">No model can be reached yet. You can create the agent all the same; give the server a key or start a local model before you talk to it.</Note>}
      {error !== null && <Note tone="bad" role="alert"><b>The agent was not created.</b> {describe(error)}</Note>}
      <div className="row formend">
        <button className="btn primary lg" disabled={isBusy} aria-busy={isBusy}>
          {isBusy ? "Creating…" : "Create and open"}
        </button>
        <span className="mut">You can change all of this later.</span>
      </div>
    </form>
  );
}
