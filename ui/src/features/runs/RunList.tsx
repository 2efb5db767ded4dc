/* The runs beside the one that is open. */
import { Link } from "wouter";
import { isActive } from "@/api/runs";
import { Failure } from "@/components/Failure";
import { paths } from "@/components/links";
import { RunFilters } from "@/features/runs/RunFilters";
import { lookOf, titleOf } from "@/features/runs/state";
import { useRunFilter, useRuns } from "@/features/runs/useRuns";
import { duration, exactly, fromNs, money, plural, when } from "@/lib/format";

export function RunList({ chosen }: { chosen: string }) {
  const [filter, setFilter] = useRunFilter();
  const list = useRuns(filter);
  const search = location.search;
  return (
    <section className="pane list" aria-label="Runs">
      <div className="panebar filters"><RunFilters filter={filter} onChange={setFilter} /></div>
      <div className="scroll grow" tabIndex={0}>
        {list.error && <Failure what="The runs cannot be read." error={list.error} onRetry={() => void list.refetch()} />}
        {list.data?.pages.flat().map((run) => {
          const look = lookOf(run);
          const isPlain = look.dot === "ok";
          return (
            <Link key={run.id} className={`listrow ${run.id === chosen ? "sel" : ""}`} href={paths.run(run.id) + search} aria-current={run.id === chosen ? "true" : undefined}>
              <span className="a"><i className={`dot ${look.dot}`} /><span className="cut">{titleOf(run)}</span></span>
              <span className="b">
                <span title={exactly(run.created_at)}>{when(run.created_at)}</span>
                {!!run.gist?.num_steps && <span>{plural(run.gist.num_steps, "step")}</span>}
                {!isActive(run) && run.total_duration_ns !== null && <span>{duration(fromNs(run.total_duration_ns))}</span>}
                <span className={`end cut ${look.tone}`}>{isPlain ? run.gist?.cost_usd ? money(run.gist.cost_usd) : "" : look.words}</span>
              </span>
            </Link>
          );
        })}
        {list.hasNextPage && <button className="btn quiet more" onClick={() => void list.fetchNextPage()}>Show older runs</button>}
      </div>
    </section>
  );
}
