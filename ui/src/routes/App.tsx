/* The frame around every page. */
import { useQueryClient } from "@tanstack/react-query";
import { Suspense, useEffect } from "react";
import { Route, Switch, useLocation } from "wouter";
import { connection, onReturn } from "@/api/connection";
import { Boundary } from "@/components/Boundary";
import { type Command, useCommands } from "@/components/commands";
import { Loading } from "@/components/Loading";
import { Empty } from "@/components/Note";
import { Toasts } from "@/components/Toasts";
import { ConnectionLine } from "@/features/shell/ConnectionLine";
import { Header } from "@/features/shell/Header";
import { KeyList } from "@/features/shell/KeyList";
import { openKeyList, openPalette, overlay } from "@/features/shell/overlays";
import { Palette } from "@/features/shell/Palette";
import { SignIn } from "@/features/shell/SignIn";
import { useKeys } from "@/lib/keys";
import { useStore } from "@/lib/store";
import { chooseTheme, isDark } from "@/lib/theme";
import { NAV, ROUTES } from "@/routes/table";

export function App() {
  const [location, navigate] = useLocation();
  const { status } = useStore(connection);
  const open = useStore(overlay);
  const queries = useQueryClient();
  useEffect(() => onReturn(() => void queries.invalidateQueries()), [queries]);

  useKeys([
    { group: "Everywhere", keys: "mod+k", label: "Search or run a command", run: openPalette },
    { group: "Everywhere", keys: "?", label: "This list", run: openKeyList },
    ...NAV.map((entry) => ({ group: "Everywhere", keys: `g ${entry.key}`, label: entry.label, run: () => navigate(entry.path) })),
  ]);
  useCommands([
    ...NAV.map((entry): Command => ({ id: `go ${entry.path}`, group: "Go to", label: entry.label, icon: "right", keys: `g ${entry.key}`, run: () => navigate(entry.path) })),
    { id: "theme", group: "Here", label: "Switch between light and dark", icon: "theme", run: () => chooseTheme(isDark() ? "light" : "dark") },
    { id: "keys", group: "Here", label: "Keyboard", icon: "info", keys: "?", run: openKeyList },
  ]);

  return (
    <>
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to content
      </a>
      <Header nav={NAV} />
      <ConnectionLine />
      {status === "sign-in" ? (
        <SignIn />
      ) : (
        <Boundary resetKey={location}>
          <Suspense fallback={<main id="main" className="page" tabIndex={-1}><Loading /></main>}>
            <Switch>
              {ROUTES.map(({ path, page: Page }) => (
                <Route key={path} path={path}>
                  <Page />
                </Route>
              ))}
              <Route>
                <main id="main" className="page" tabIndex={-1}>
                  <div className="wrap"><Empty title="No such page">The address leads nowhere here.</Empty></div>
                </main>
              </Route>
            </Switch>
          </Suspense>
        </Boundary>
      )}
      {open === "palette" && <Palette />}
      {open === "keys" && <KeyList />}
      <Toasts />
    </>
  );
}
