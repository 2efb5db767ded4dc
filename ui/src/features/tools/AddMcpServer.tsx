import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { addMcpServer, type McpServer } from "@/api/tools";
import { Segments } from "@/components/controls";
import { Dialog } from "@/components/Dialog";
import { Failure } from "@/components/Failure";

const KINDS = [["streamable_http", "HTTP"], ["sse", "SSE"], ["stdio", "Program here"]] as const;

export function AddMcpServer({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState<McpServer["mcp_server_type"]>("streamable_http");
  const [address, setAddress] = useState("");
  const [token, setToken] = useState("");
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const add = useMutation({
    mutationFn: () => {
      const [command = "", ...args] = address.trim().split(/\s+/);
      const config = kind === "stdio" ? { mcp_server_type: kind, command, args } : { mcp_server_type: kind, server_url: address.trim(), ...(token && { auth_header: "Authorization", auth_token: token }) };
      return addMcpServer(name.trim(), config);
    },
    onSuccess: (server) => {
      void queries.invalidateQueries({ queryKey: ["mcp"] });
      void queries.invalidateQueries({ queryKey: ["tools"] });
      onClose();
      navigate(`/tools/mcp/${server.id}`);
    },
  });
  return (
    <Dialog label="Add an MCP server" onClose={onClose}>
      <form onSubmit={(event) => { event.preventDefault(); add.mutate(); }}>
        <div className="body form">
          <label><span className="formlab">Name</span><span className="field"><input value={name} required autoFocus placeholder="household-calendar" onChange={(event) => setName(event.target.value)} /></span></label>
          <div><span className="formlab">Reached by</span><Segments label="Reached by" value={kind} options={KINDS} onChange={setKind} /></div>
          <label>
            <span className="formlab">{kind === "stdio" ? "Command" : "Address"}</span>
            <span className="field"><input className="mono" value={address} required placeholder={kind === "stdio" ? "npx -y @scope/server" : "https://example.com/mcp"} onChange={(event) => setAddress(event.target.value)} /></span>
          </label>
          {kind === "stdio" ? <p className="meta">The program runs on the server's machine, with the server's rights. Only where its operator allows that.</p> : (
            <label><span className="formlab">Token, if it wants one</span><span className="field"><input type="password" autoComplete="off" value={token} placeholder="Bearer …" onChange={(event) => setToken(event.target.value)} /></span></label>
          )}
          {add.error && <Failure what="It was not added." error={add.error} />}
        </div>
        <div className="foot"><button className="btn primary" disabled={add.isPending || !name.trim() || !address.trim()}>{add.isPending ? "Adding…" : "Add the server"}</button><button type="button" className="btn quiet" onClick={onClose}>Cancel</button></div>
      </form>
    </Dialog>
  );
}
