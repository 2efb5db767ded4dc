/* What the server is, and how this browser shows it. */
import { useQuery } from "@tanstack/react-query";
import { connection } from "@/api/connection";
import { sandboxWords, type ServerState, serverQuery } from "@/api/server";
import { Segments, Switch } from "@/components/controls";
import { Failure } from "@/components/Failure";
import { Icon } from "@/components/Icon";
import { Loading } from "@/components/Loading";
import { Access } from "@/features/settings/Access";
import { exactly, UNKNOWN, when } from "@/lib/format";
import { areLettersOn, showKeys, switchLetters } from "@/lib/keys";
import { useStore } from "@/lib/store";
import { chooseTheme, theme } from "@/lib/theme";

const THEMES = [["system", "As the system"], ["light", "Light"], ["dark", "Dark"]] as const;
const TRACES = { off: "none", errors: "those of failed steps", all: "those of every step" };

export function SettingsPage() {
  const server = useQuery({ ...serverQuery, refetchInterval: 30_000 });
  const { status } = useStore(connection);
  const letters = useStore(areLettersOn);
  const chosen = useStore(theme);
  return (
    <div className="wrap settings">
      <div className="pagehead"><h1>Settings</h1></div>
      <section className="panel" aria-labelledby="set-look">
        <div className="panelhead"><h2 id="set-look">This browser</h2><span className="meta">kept here, not on the server</span></div>
        <dl className="setlist">
          <dt>Theme</dt><dd><Segments label="Theme" value={chosen} options={THEMES} onChange={chooseTheme} /></dd>
          <dt>Single letters as commands</dt><dd className="row"><Switch label="Single letters as commands" checked={letters} onChange={switchLetters} /><span className="mut">{letters ? <>on; <kbd>?</kbd> lists them</> : <>off; <kbd>{showKeys("mod+k")}</kbd> still opens the palette</>}</span></dd>
        </dl>
      </section>
      <Access />
      <section className="panel" aria-labelledby="set-server">
        <div className="panelhead"><h2 id="set-server">Server</h2><span className="meta">set where it is started; see the guide on configuration</span></div>
        {server.isPending && <Loading lines={4} />}
        {server.error && <div className="setnote"><Failure what="The server does not say what it is." error={server.error} onRetry={() => void server.refetch()} /></div>}
        {server.data && <Facts server={server.data} isConnected={status !== "lost"} />}
      </section>
    </div>
  );
}

function Facts({ server, isConnected }: { server: ServerState; isConnected: boolean }) {
  const { sandbox } = server;
  const isWeak = sandbox.level === "limits";
  return (
    <dl className="setlist">
      <dt>State</dt><dd className="row"><i className={`dot ${isConnected ? "ok" : "warn"}`} />{isConnected ? "running" : "not reached"}<span className="mut" title={exactly(server.started_at)}>since {when(server.started_at)}</span></dd>
      <dt>Version</dt><dd className="num">{server.version}</dd>
      <dt>Database</dt><dd>{server.database.description}</dd>
      <dt>Sandbox</dt><dd className={isWeak ? "warn" : undefined}><span className="row"><Icon name="shield" size={14} />{sandboxWords(sandbox.level)}</span>{sandbox.reason && <span className="meta">{sandbox.reason}</span>}</dd>
      <dt>Password</dt><dd>{server.has_password ? "asked for, or a key" : "none: whoever reaches the address may come in"}</dd>
      <dt>Model by default</dt><dd className="mono small">{server.default_model ?? UNKNOWN}</dd>
      <dt>Embedding by default</dt><dd className="mono small">{server.default_embedding ?? "none: search goes by words alone"}</dd>
      <dt>Exchanges kept</dt><dd>{TRACES[server.traces]}{server.traces !== "off" && `, for ${server.trace_days} days`} <span className="meta"><code>REMANENCE_TRACES</code></span></dd>
      <dt>Revisions kept</dt><dd>the newest {server.revisions_kept.toLocaleString("en-GB")} of each block <span className="meta"><code>REMANENCE_REVISIONS_KEPT</code></span></dd>
      <dt>API</dt><dd><a href="docs" target="_blank" rel="noreferrer">its description</a></dd>
    </dl>
  );
}
