/* Everything ever said to or by the agent, searched by words and meaning. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { type MessageHit, nextSaid, searchMessages, type Speaker } from "@/api/memory";
import { Select } from "@/components/controls";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { paths } from "@/components/links";
import { Loading } from "@/components/Loading";
import { HitHead, HitKey, Marked } from "@/features/recall/HitCard";
import { useSearch } from "@/features/recall/useSearch";

interface Props {
  agentId: string;
  agentName: string;
  conversation: string | null;
}

const SPEAKERS = [["anyone", "Anyone"], ["user", "You"], ["assistant", "The agent"]] as const;
const WITH_NEIGHBOUR = 6;

export default function RecallSearch({ agentId, agentName }: Props) {
  const [query, setQuery] = useState("");
  const [speaker, setSpeaker] = useState<Speaker>("anyone");
  const { found, isAsked } = useSearch(["agent", agentId, "recall", speaker], query, (text, signal) => searchMessages(agentId, text, speaker, signal));
  const hits = found.data?.hits ?? [];
  return (
    <>
      <div className="row searchrow">
        <label className="field"><Icon name="search" size={14} /><input type="search" aria-label="Search what was said" placeholder="Search what was said" value={query} onChange={(event) => setQuery(event.target.value)} /></label>
        <Select label="Said by" icon="filter" value={speaker} options={SPEAKERS} onChange={(next) => setSpeaker(next as Speaker)} />
      </div>
      {found.error && <Failure what="The search failed." error={found.error} onRetry={() => void found.refetch()} />}
      {isAsked && found.isPending && <Loading lines={3} label="Searching" />}
      {found.data && <HitKey found={hits.length} all={hits.length === 1 ? "message" : "messages"} ms={found.data.ms} hasMeaning={!hits.length || hits.some((each) => each.isByMeaning)} />}
      {found.data && !hits.length && <p className="small mut">Nothing like that was said{speaker === "anyone" ? "" : ` by ${speaker === "user" ? "you" : agentName}`}. Try other words, or fewer.</p>}
      <ul className="hits">
        {hits.map((hit, at) => <RecallHit key={hit.id} hit={hit} agentId={agentId} agentName={agentName} query={found.data?.query ?? ""} hasNeighbour={at < WITH_NEIGHBOUR} />)}
      </ul>
      <p className="small mut">Everything ever said to or by {agentName}, also what compaction took out of the context. Choose a hit to open it in the history.</p>
    </>
  );
}

function RecallHit({ hit, agentId, agentName, query, hasNeighbour }: { hit: MessageHit; agentId: string; agentName: string; query: string; hasNeighbour: boolean }) {
  const next = useQuery({ queryKey: ["agent", agentId, "after", hit.id], queryFn: () => nextSaid(agentId, hit), enabled: hasNeighbour, staleTime: 60_000 });
  const place = hit.conversation ? paths.conversation(agentId, hit.conversation) : paths.agent(agentId);
  const nameOf = (role: string) => (role === "assistant" ? agentName : role === "user" ? "You" : "A tool");
  return (
    <li className="hit">
      <HitHead hit={hit} who={nameOf(hit.role)}>{hit.conversation && <span className="tag">side conversation</span>}</HitHead>
      <Link className="hittext" href={`${place}?message=${hit.id}`}><Marked text={hit.snippet || hit.text} query={query} /></Link>
      {next.data && <div className="near">{nameOf(next.data.role)}: {next.data.text.length > 160 ? `${next.data.text.slice(0, 160)}…` : next.data.text}</div>}
    </li>
  );
}
