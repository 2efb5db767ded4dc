import { Link, useLocation } from "wouter";
import { connection } from "@/api/connection";
import { Icon } from "@/components/Icon";
import { crumb, paths } from "@/components/links";
import { Menu } from "@/components/Menu";
import { openPalette } from "@/features/shell/overlays";
import { showKeys } from "@/lib/keys";
import { useStore } from "@/lib/store";
import { chooseTheme, type Theme, theme } from "@/lib/theme";

export interface NavEntry {
  path: string;
  label: string;
  /** Other addresses under which this entry is the current one. */
  also?: RegExp;
}

const THEMES: readonly (readonly [Theme, string])[] = [
  ["system", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
];

export function Header({ nav }: { nav: readonly NavEntry[] }) {
  const [location, navigate] = useLocation();
  const chosen = useStore(theme);
  const here = useStore(crumb);
  const isCurrent = (entry: NavEntry) => location === entry.path || (entry.path !== "/" && location.startsWith(`${entry.path}/`)) || (entry.also?.test(location) ?? false);
  return (
    <header className="top">
      <Link className="brand" href={paths.agents} aria-label="Remanence, all agents">
        <svg viewBox="0 0 20 20" aria-hidden="true">
          <path d="M2 16.5C7 16.5 7.4 13.5 8.4 10 9.5 6.2 10.5 3.5 18 3.5M2 16.5C9.5 16.5 10.5 13.8 11.6 10 12.6 6.5 13 3.5 18 3.5" />
          <circle className="dot" cx="9.3" cy="7.2" r="2.3" />
        </svg>
        <span>Remanence</span>
      </Link>
      <nav className="nav" aria-label="Main">
        {nav.map((entry) => (
          <Link key={entry.path} href={entry.path} aria-current={isCurrent(entry) ? "page" : undefined}>
            {entry.label}
          </Link>
        ))}
      </nav>
      <div className="crumbs phone-only">
        <b className="cut">{here.title}</b>
        {here.tag && <span className={`tag ${here.tag.tone}`}>{here.tag.text}</span>}
      </div>
      <button className="find" aria-haspopup="dialog" onClick={openPalette}>
        <Icon name="search" size={14} />
        <span className="cut">
          Search<span className="long"> or run a command</span>
        </span>{" "}
        <kbd>{showKeys("mod+k")}</kbd>
      </button>
      <button className="icon phone-only" aria-label="Search or run a command" aria-haspopup="dialog" onClick={openPalette}>
        <Icon name="search" />
      </button>
      <ConnectionState />
      <Menu label="Theme" title="Theme" align="end" items={THEMES.map(([name, label]) => ({ label, checked: chosen === name, run: () => chooseTheme(name) }))}>
        <Icon name="theme" />
      </Menu>
      <span className="moremenu">
        <Menu label="Pages" align="end" items={nav.map((entry) => ({ label: entry.label, checked: isCurrent(entry), run: () => navigate(entry.path) }))}>
          <Icon name="dots" />
        </Menu>
      </span>
    </header>
  );
}

function ConnectionState() {
  const { status } = useStore(connection);
  const isHere = /^(localhost|127\.|\[::1\])/.test(location.hostname);
  const text = status === "lost" ? "Not connected" : `Connected to ${isHere ? "this machine" : location.hostname}`;
  return (
    <span className="conn" title={text}>
      <i className={`dot ${status === "lost" ? "warn" : "ok"}`} />
      <span>{text}</span>
    </span>
  );
}
