import { useState } from "react";
import { connection, signIn } from "@/api/connection";
import { useStore } from "@/lib/store";

/** One field, nothing else. What is typed is sent once and kept nowhere. */
export function SignIn() {
  const [password, setPassword] = useState("");
  const { wasRefused } = useStore(connection);
  return (
    <main id="main" className="page">
      <form
        className="signin"
        onSubmit={(event) => {
          event.preventDefault();
          if (password) void signIn(password);
        }}
      >
        <h1>Password of this server, or a key</h1>
        <div>
          <label className={`field ${wasRefused ? "bad" : ""}`}>
            <input type="password" autoComplete="current-password" aria-label="Password or key" aria-invalid={wasRefused} autoFocus value={password} onChange={(event) => setPassword(event.target.value)} />
          </label>
          {wasRefused && <p className="small danger" role="alert">That is neither the password nor a key.</p>}
        </div>
        <button className="btn primary lg">Sign in</button>
      </form>
    </main>
  );
}
