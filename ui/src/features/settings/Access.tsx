/* Who one is here, and the keys that open the server. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type ApiKey, keysQuery, revokeKey, seesKeys, type Session, sessionQuery, signOut } from "@/api/access";
import { describe } from "@/api/errors";
import { ConfirmButton } from "@/components/ConfirmButton";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { Loading } from "@/components/Loading";
import { NewKeyDialog } from "@/features/settings/NewKeyDialog";
import { ROLE_WORDS } from "@/features/settings/roles";
import { exactly, shortId, when } from "@/lib/format";
import { toast } from "@/lib/toasts";

export function Access() {
  const { data: session } = useQuery(sessionQuery);
  if (!session) return null;
  return (
    <>
      {session.is_session && <SignedIn session={session} />}
      {seesKeys(session) && <Keys canChange={session.role !== "read_only"} role={session.role} />}
    </>
  );
}

function SignedIn({ session }: { session: Session }) {
  const leave = useMutation({ mutationFn: signOut, onError: (error) => toast(`Not signed out. ${describe(error)}`, { tone: "bad" }) });
  return (
    <section className="panel" aria-labelledby="set-me">
      <div className="panelhead"><h2 id="set-me">Signed in</h2><button className="btn sm end" disabled={leave.isPending} onClick={() => leave.mutate()}>Sign out</button></div>
      <dl className="setlist">
        <dt>You may</dt><dd>{ROLE_WORDS[session.role]}{session.scope.map((each) => <span key={each.id} className="meta">in {each.type} <code>{each.id}</code></span>)}</dd>
        <dt>Until</dt><dd title={exactly(session.expires_at)}>{when(session.expires_at)}</dd>
      </dl>
    </section>
  );
}

function Keys({ canChange, role }: { canChange: boolean; role: Session["role"] }) {
  const keys = useQuery(keysQuery);
  const [isMaking, setMaking] = useState(false);
  return (
    <section className="panel" aria-labelledby="set-keys">
      <div className="panelhead">
        <h2 id="set-keys">Keys</h2>
        <span className="meta">for programs and people, each with its own limits</span>
        {canChange && <button className="btn sm end" onClick={() => setMaking(true)}><Icon name="plus" size={12} /> New key</button>}
      </div>
      {keys.isPending && <Loading lines={2} />}
      {keys.error && <div className="setnote"><Failure what="The keys cannot be shown." error={keys.error} onRetry={() => void keys.refetch()} /></div>}
      {keys.data?.length === 0 && <p className="setnote mut">None yet.</p>}
      {keys.data && keys.data.length > 0 && (
        <div className="keysbox" tabIndex={0} role="group" aria-label="List of keys">
          <table className="table">
            <thead><tr><th>Name</th><th>Begins</th><th>May</th><th>Expires</th><th>Last used</th><th><span className="vh">Actions</span></th></tr></thead>
            <tbody>{keys.data.map((each) => <KeyRow key={each.id} apiKey={each} canChange={canChange} />)}</tbody>
          </table>
        </div>
      )}
      {isMaking && <NewKeyDialog mostRole={role} onClose={() => setMaking(false)} />}
    </section>
  );
}

function KeyRow({ apiKey, canChange }: { apiKey: ApiKey; canChange: boolean }) {
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => revokeKey(apiKey.id),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: keysQuery.queryKey });
      toast(`${apiKey.name} opens nothing any more.`);
    },
    onError: (error) => toast(`Not revoked. ${describe(error)}`, { tone: "bad" }),
  });
  return (
    <tr>
      <td><b>{apiKey.name}</b></td>
      <td className="mono small">{apiKey.hint}…</td>
      <td>{ROLE_WORDS[apiKey.role]}{apiKey.scope && <span className="dim small" title={apiKey.scope.id}> in {apiKey.scope.type} {shortId(apiKey.scope.id)}</span>}</td>
      <td className="dim" title={exactly(apiKey.expires_at)}>{apiKey.expires_at ? when(apiKey.expires_at) : "never"}</td>
      <td className="dim" title={exactly(apiKey.last_used_at)}>{apiKey.last_used_at ? when(apiKey.last_used_at) : "never"}</td>
      <td className="r">{canChange && <ConfirmButton question="Revoke it?" disabled={revoke.isPending} onConfirm={() => revoke.mutate()}>Revoke</ConfirmButton>}</td>
    </tr>
  );
}
