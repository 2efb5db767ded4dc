/* Archival memory: passages that the agent keeps outside its context, searched by words and meaning. */
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { describe } from "@/api/errors";
import { deletePassage, type Hit, insertPassage, listPassages, restorePassage, searchPassages } from "@/api/memory";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { Loading } from "@/components/Loading";
import { HitHead, HitKey, Marked } from "@/features/recall/HitCard";
import { useSearch } from "@/features/recall/useSearch";
import { toast } from "@/lib/toasts";

const A_PAGE = 50;

export default function ArchivalSearch({ agentId, agentName }: { agentId: string; agentName: string; conversation: string | null }) {
  const [query, setQuery] = useState("");
  const [isAdding, setAdding] = useState(false);
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: ["agent", agentId] });
  const { found, isAsked } = useSearch(["agent", agentId, "archival"], query, (text, signal) => searchPassages(agentId, text, signal));
  const list = useInfiniteQuery({
    queryKey: ["agent", agentId, "passages"],
    queryFn: ({ pageParam }) => listPassages(agentId, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => (last.length < A_PAGE ? null : (last.at(-1)?.id ?? null)),
    enabled: !isAsked,
  });
  const remove = useMutation({
    mutationFn: (id: string) => deletePassage(agentId, id),
    onSuccess: async (_, id) => {
      await refresh();
      toast("The passage is deleted.", { action: { label: "Undo", run: () => void restorePassage(id).then(refresh, (error: unknown) => toast(`It could not be brought back. ${describe(error)}`, { tone: "bad" })) } });
    },
    onError: (error) => toast(`Not deleted. ${describe(error)}`, { tone: "bad" }),
  });
  const hits = found.data?.hits ?? [];
  const passages = list.data?.pages.flat() ?? [];
  return (
    <>
      <div className="row searchrow">
        <label className="field"><Icon name="search" size={14} /><input type="search" aria-label="Search archival memory" placeholder="Search archival memory" value={query} onChange={(event) => setQuery(event.target.value)} /></label>
        <button className="btn" onClick={() => setAdding(!isAdding)} aria-expanded={isAdding}><Icon name="plus" size={14} />Add</button>
      </div>
      {isAdding && <NewPassage agentId={agentId} onDone={() => { setAdding(false); void refresh(); }} />}
      {(found.error ?? list.error) && <Failure what="Archival memory cannot be read." error={found.error ?? list.error} onRetry={() => void (isAsked ? found.refetch() : list.refetch())} />}
      {(isAsked ? found.isPending : list.isPending) && <Loading lines={3} />}
      {isAsked ? (
        <>
          {found.data && <HitKey found={hits.length} all={hits.length === 1 ? "passage" : "passages"} ms={found.data.ms} hasMeaning={!hits.length || hits.some((each) => each.isByMeaning)} />}
          {found.data && !hits.length && <p className="small mut">Nothing like that is kept. Try other words, or fewer.</p>}
          <ul className="hits">{hits.map((hit) => <PassageCard key={hit.id} hit={hit} tags={hit.tags} onDelete={() => remove.mutate(hit.id)}><Marked text={hit.text} query={found.data?.query ?? ""} /></PassageCard>)}</ul>
        </>
      ) : (
        <>
          <ul className="hits">
            {passages.map((each) => <PassageCard key={each.id} hit={{ id: each.id, text: each.text, date: each.created_at, score: 0, wordShare: null, isByMeaning: false }} tags={each.tags ?? []} onDelete={() => remove.mutate(each.id)}>{each.text}</PassageCard>)}
          </ul>
          {list.hasNextPage && <button className="btn quiet" onClick={() => void list.fetchNextPage()}>Show older passages</button>}
          {list.data && !passages.length && <p className="small mut">Nothing is kept here yet. {agentName} puts passages here with <code>archival_memory_insert</code>; you can add one too.</p>}
          {passages.length > 0 && <p className="small mut">Kept outside the context until {agentName} looks something up.</p>}
        </>
      )}
    </>
  );
}

function PassageCard({ hit, tags, onDelete, children }: { hit: Hit; tags: readonly string[]; onDelete: () => void; children: ReactNode }) {
  return (
    <li className="hit">
      <HitHead hit={hit}>
        {tags.map((each) => <span key={each} className="tag">{each}</span>)}
        <button className="icon sm end" aria-label="Delete this passage" title="Delete" onClick={onDelete}><Icon name="x" size={12} /></button>
      </HitHead>
      <p>{children}</p>
    </li>
  );
}

function NewPassage({ agentId, onDone }: { agentId: string; onDone: () => void }) {
  const [text, setText] = useState("");
  const [tags, setTags] = useState("");
  const add = useMutation({
    mutationFn: () => insertPassage(agentId, text.trim(), tags.split(",").map((each) => each.trim()).filter(Boolean)),
    onSuccess: () => {
      onDone();
      toast("The passage is kept.");
    },
  });
  return (
    <form className="hit newpassage" onSubmit={(event) => { event.preventDefault(); add.mutate(); }}>
      <textarea className="field" rows={4} aria-label="Text of the passage" placeholder="What is to be remembered" autoFocus value={text} onChange={(event) => setText(event.target.value)} />
      <label className="field"><input aria-label="Tags" placeholder="Tags, with commas between" value={tags} onChange={(event) => setTags(event.target.value)} /></label>
      <div className="row"><button className="btn primary sm" disabled={!text.trim() || add.isPending}>{add.isPending ? "Keeping…" : "Keep it"}</button><button type="button" className="btn sm quiet" onClick={onDone}>Cancel</button></div>
      {add.error && <Failure what="Not kept." error={add.error} />}
    </form>
  );
}
