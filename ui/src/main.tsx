import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Router } from "wouter";
import { BASE } from "@/api/client";
import { tryNow } from "@/api/connection";
import { statusOf } from "@/api/errors";
import { listenToKeys } from "@/lib/keys";
import { App } from "@/routes/App";
import "@/styles/index.css";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      networkMode: "always", // the server may be on this very machine
      // What was refused stays refused; what got lost is asked for again when the server is back.
      retry: (failures, error) => failures < 1 && (statusOf(error) ?? 0) >= 500,
      refetchOnWindowFocus: true,
    },
    mutations: { networkMode: "always" },
  },
});

listenToKeys();
void tryNow();
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Router base={BASE}>
          <App />
        </Router>
      </QueryClientProvider>
    </StrictMode>,
  );
}
