/* All runs, one row each: who, what about, how it ended, time, tokens, cost. */
import { Link, useLocation } from "wouter";
import type { Run } from "@/api/runs";
import { Failure } from "@/components/Failure";
import { Loading } from "@/components/Loading";
import { Empty } from "@/components/Note";
import { paths } from "@/components/links";
import { RunFilters } from "@/features/runs/RunFilters";
import { lookOf, titleOf } from "@/features/runs/state";
import { useRunFilter, useRuns } from "@/features/runs/useRuns";
import { count, duration, exactly, fromNs, money, share, UNKNOWN, when } from "@/lib/format";

export function RunTable() {
  const [filter, setFilter] = useRunFilter();
  const list = useRuns(filter);
  const runs = list.data?.pages.flat() ?? [];
  const isFiltered = filter.agent !== null || filter.state !== "all";
  return (
    <div className="wrap wide">
      <div className="pagehead">
        <h1>Runs</h1>
        <span className="mut">every time an agent was spoken to, newest first</span>
        <span className="end" />
        <span className="row runfilters"><RunFilters filter={filter} onChange={setFilter} /></span>
      </div>
      {list.error && <Failure what="The runs cannot be read." error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Loading lines={4} />}
      {list.data && !runs.length && (
        <Empty title={isFiltered ? "No such run" : "No runs yet"} action={isFiltered && <button className="btn" onClick={() => setFilter({ agent: null, state: "all" })}>Show all runs</button>}>
          {isFiltered ? "No run fits what you chose." : "Each message to an agent starts a run. Its steps, times, tokens and cost are kept here."}
        </Empty>
      )}
      {runs.length > 0 && (
        <div className="panel">
          <table className="table runtable">
            <thead>
              <tr><th>Run</th><th>Agent</th><th>State</th><th>Started</th><th className="r">Steps</th><th className="r">Tokens in</th><th className="r">Cached</th><th className="r">Out</th><th className="r">Cost</th><th className="r">Time</th></tr>
            </thead>
            <tbody>{runs.map((run) => <RunRow key={run.id} run={run} />)}</tbody>
          </table>
        </div>
      )}
      {list.hasNextPage && <button className="btn more" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>{list.isFetchingNextPage ? "Loading…" : "Show older runs"}</button>}
    </div>
  );
}

function RunRow({ run }: { run: Run }) {
  const [, navigate] = useLocation();
  const look = lookOf(run);
  const gist = run.gist;
  return (
    <tr className="opens" onClick={() => navigate(paths.run(run.id))}>
      <td className="what"><Link className="cut" href={paths.run(run.id)} onClick={(event) => event.stopPropagation()}>{titleOf(run)}</Link></td>
      <td className="dim agent"><span className="cut">{gist?.agent_name ?? UNKNOWN}</span></td>
      <td><span className="row"><i className={`dot ${look.dot}`} /><span className={look.tone}>{look.words}</span></span></td>
      <td className="dim num nowrap" title={exactly(run.created_at)}>{when(run.created_at)}</td>
      <td className="r">{gist ? count(gist.num_steps) : UNKNOWN}</td>
      <td className="r">{count(gist?.prompt_tokens)}</td>
      <td className="r dim">{gist?.prompt_tokens ? share(gist.cached_input_tokens ?? 0, gist.prompt_tokens) : UNKNOWN}</td>
      <td className="r">{count(gist?.completion_tokens)}</td>
      <td className="r">{money(gist?.cost_usd)}</td>
      <td className="r">{duration(fromNs(run.total_duration_ns))}</td>
    </tr>
  );
}
