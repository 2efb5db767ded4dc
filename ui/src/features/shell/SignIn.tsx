import { useState } from "react";
import { connection, signIn } from "@/api/connection";
import { useStore } from "@/lib/store";

/** One field, nothing else. The password stays in this tab. */
export function SignIn() {
  const [password, setPassword] = useState("");
  const { wasRefused } = useStore(connection);
  return (
    <main id="main" className="page">
      <form
        className="signin"
        onSubmit={(event) => {
          event.preventDefault();
          if (password) signIn(password);
        }}
      >
        <h1>Password of this server</h1>
        <div>
          <label className={`field ${wasRefused ? "bad" : ""}`}>
            <input type="password" autoComplete="current-password" aria-label="Password" aria-invalid={wasRefused} autoFocus value={password} onChange={(event) => setPassword(event.target.value)} />
          </label>
          {wasRefused && <p className="small danger" role="alert">That is not the password.</p>}
        </div>
        <button className="btn primary lg">Sign in</button>
      </form>
    </main>
  );
}
