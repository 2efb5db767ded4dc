/* One conversation while it is open: its messages, the runs that write to it, and what the user may do. No React. */
import { connectionLost, onReturn } from "@/api/connection";
import { bodyOf, describe, statusOf } from "@/api/errors";
import { activeRuns, cancelRun, followRun, listMessages, type Place, startRun, type WireMessage } from "@/api/messages";
import { foldFrame, keyOf, merge, type Msg, toMsg } from "@/features/chat/fold";
import { readEvents } from "@/lib/sse";
import { createStore } from "@/lib/store";

const PAGE = 100;
const HIDDEN_TAB_MS = 250;

export interface ChatState {
  messages: readonly Msg[];
  isLoaded: boolean;
  hasOlder: boolean;
  isLoadingOlder: boolean;
  loadError: unknown;
  /** Runs that are followed; the first is the one at work. */
  runs: readonly string[];
  /** When the run at work began, for the clock under the composer. */
  since: number;
  isCancelling: boolean;
  note: { tone: "info" | "warn" | "bad"; text: string } | null;
}

const EMPTY: ChatState = { messages: [], isLoaded: false, hasOlder: false, isLoadingOlder: false, loadError: null, runs: [], since: 0, isCancelling: false, note: null };

interface Follow {
  runId: string | null;
  seq: number;
  /** Keys that the history had before this stream was read: their pieces come a second time. */
  known: ReadonlySet<string>;
  userKey: string | null;
  isOver: boolean;
}

export class ChatSession {
  readonly state = createStore<ChatState>(EMPTY);
  /** Told after each step and at the end of a run: memory and context may have changed. */
  onProgress: (() => void) | null = null;
  private aborter = new AbortController();
  private stopWatching: (() => void) | null = null;
  private frames: { wire: WireMessage; follow: Follow }[] = [];
  private isScheduled = false;
  private readonly followed = new Map<string, Follow>();

  constructor(readonly place: Place) {}

  open(): void {
    this.aborter = new AbortController();
    this.stopWatching = onReturn(() => void this.catchUp());
    void this.load();
  }

  close(): void {
    this.aborter.abort();
    this.stopWatching?.();
  }

  async load(): Promise<void> {
    try {
      const page = await listMessages(this.place, null, PAGE, this.aborter.signal);
      const read = fromPage(page);
      const keys = new Set(read.map((each) => each.key));
      const sent = this.state.get().messages.filter((each) => !keys.has(each.key)); // while this was on its way
      this.patch({ messages: [...read, ...sent], isLoaded: true, hasOlder: page.length >= PAGE, loadError: null });
      await this.resume();
    } catch (error) {
      if (!this.aborter.signal.aborted) this.patch({ loadError: error });
    }
  }

  async loadOlder(): Promise<void> {
    const { hasOlder, isLoadingOlder, messages } = this.state.get();
    const oldest = messages.find((each) => each.id.startsWith("message-"));
    if (!hasOlder || isLoadingOlder || !oldest) return;
    this.patch({ isLoadingOlder: true });
    try {
      const page = await listMessages(this.place, oldest.id, PAGE * 2, this.aborter.signal);
      const known = new Set(this.state.get().messages.map((each) => each.key));
      const older = fromPage(page).filter((each) => !known.has(each.key));
      this.patch({ messages: [...older, ...this.state.get().messages], hasOlder: page.length >= PAGE * 2 });
    } finally {
      this.patch({ isLoadingOlder: false });
    }
  }

  /** Loads as far back as this message. */
  async reach(messageId: string): Promise<boolean> {
    const isThere = () => this.state.get().messages.some((each) => each.id === messageId);
    while (!isThere() && this.state.get().hasOlder) await this.loadOlder();
    return isThere();
  }

  async send(content: unknown, shown: { text: string; images: readonly string[] }): Promise<boolean> {
    const otid = crypto.randomUUID();
    const msg: Msg = { key: otid, id: otid, kind: "user", date: new Date().toISOString(), stepId: null, runId: null, ...shown, calls: [], returns: [], approvals: [], raw: null, isLive: false, isQueued: this.state.get().runs.length > 0 };
    this.patch({ messages: [...this.state.get().messages, msg], note: null });
    return this.start([{ role: "user", content, otid }], otid);
  }

  async answer(approvals: readonly { tool_call_id: string; approve: boolean; reason?: string | null }[]): Promise<boolean> {
    const otid = crypto.randomUUID();
    const wire: WireMessage = { id: otid, otid, message_type: "approval_response_message", approvals: approvals.map((each) => ({ type: "approval", ...each })) };
    const msg = toMsg(wire);
    if (msg) this.patch({ messages: [...this.state.get().messages, msg], note: null });
    return this.start([{ type: "approval", otid, approvals: wire.approvals }], otid);
  }

  async cancel(): Promise<void> {
    this.patch({ isCancelling: true });
    try {
      await cancelRun(this.place, this.state.get().runs[0]);
      if (this.state.get().runs.length === 0) await this.refresh();
    } catch (error) {
      if (statusOf(error) !== 409) this.patch({ note: { tone: "bad", text: `The run was not stopped. ${describe(error)}` } });
    } finally {
      this.patch({ isCancelling: false });
    }
  }

  dropNote(): void {
    this.patch({ note: null });
  }

  private async start(messages: readonly unknown[], key: string): Promise<boolean> {
    const follow: Follow = { runId: null, seq: 0, known: new Set(), userKey: key, isOver: false };
    try {
      const response = await startRun(this.place, messages, this.aborter.signal);
      void this.read(response, follow);
      return true;
    } catch (error) {
      // What was not taken goes back to the composer.
      this.patch({ messages: this.state.get().messages.filter((each) => each.key !== key) });
      const isBusy = statusOf(error) === 409 && "run_id" in bodyOf(error);
      this.patch({ note: { tone: isBusy ? "warn" : "bad", text: isBusy ? "Another run is at work here. Wait for it, or stop it." : `Not sent. ${describe(error)}` } });
      return false;
    }
  }

  /** Goes on reading the runs that were at work when this page was opened. */
  private async resume(): Promise<void> {
    const known = new Set(this.state.get().messages.map((each) => each.key));
    for (const run of await activeRuns(this.place)) {
      if (this.followed.has(run.id)) continue;
      const follow: Follow = { runId: run.id, seq: 0, known, userKey: null, isOver: false };
      this.followed.set(run.id, follow);
      void this.reopen(follow);
    }
  }

  private async reopen(follow: Follow): Promise<void> {
    if (!follow.runId) return;
    try {
      await this.read(await followRun(follow.runId, follow.seq, this.aborter.signal), follow);
    } catch (error) {
      if (this.aborter.signal.aborted) return;
      if (statusOf(error) === undefined) this.lost.add(follow);
      else await this.finish(follow); // it has expired, or is gone: the history tells the rest
    }
  }

  private lost = new Set<Follow>();

  private async catchUp(): Promise<void> {
    if (this.state.get().loadError) return this.load();
    const waiting = [...this.lost];
    this.lost.clear();
    if (!waiting.length) return;
    this.patch({ note: { tone: "info", text: "Caught up: what was written meanwhile is here." } });
    await Promise.all(waiting.map((follow) => (follow.runId ? this.reopen(follow) : this.finish(follow))));
  }

  private async read(response: Response, follow: Follow): Promise<void> {
    if (follow.runId) this.began(follow);
    try {
      for await (const { data } of readEvents(response)) {
        if (data === "[DONE]") {
          follow.isOver = true;
          break;
        }
        if (!this.take(JSON.parse(data) as WireMessage, follow)) return;
      }
    } catch {
      /* the connection broke; below */
    }
    if (this.aborter.signal.aborted) return;
    if (follow.isOver) return this.finish(follow);
    this.lost.add(follow);
    connectionLost();
  }

  /** False if this very run is followed already, through another stream. */
  private take(wire: WireMessage, follow: Follow): boolean {
    if (wire.seq_id) follow.seq = Math.max(follow.seq, wire.seq_id);
    if (wire.run_id && !follow.runId) {
      const other = this.followed.get(wire.run_id);
      if (other) {
        other.userKey ??= follow.userKey;
        return false;
      }
      follow.runId = wire.run_id;
      this.followed.set(wire.run_id, follow);
      this.began(follow);
    }
    if (wire.message_type === "ping" || wire.message_type === "usage_statistics") return true;
    this.frames.push({ wire, follow });
    this.schedule();
    return true;
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    const flush = () => this.flush();
    if (document.hidden) setTimeout(flush, HIDDEN_TAB_MS);
    else requestAnimationFrame(flush);
  }

  /** Once a frame, whatever came in the meantime. */
  private flush(): void {
    this.isScheduled = false;
    let { messages } = this.state.get();
    let isStepDone = false;
    for (const { wire, follow } of this.frames.splice(0)) {
      if (wire.message_type === "stop_reason") {
        if (wire.stop_reason === "cancelled") messages = [...messages, notice(follow, "Stopped by you.")];
        if (wire.stop_reason === "max_steps") messages = [...messages, notice(follow, "Stopped: the run took as many steps as it may.")];
        continue;
      }
      if (follow.userKey) {
        const key = follow.userKey;
        follow.userKey = null;
        messages = messages.map((each) => (each.key === key ? { ...each, isQueued: false, runId: follow.runId } : each));
      }
      if (!follow.known.has(keyOf(wire))) messages = foldFrame(messages, wire);
      isStepDone ||= wire.message_type === "tool_return_message";
    }
    this.patch({ messages });
    if (isStepDone) this.onProgress?.();
  }

  private began(follow: Follow): void {
    const { runs, since } = this.state.get();
    if (!follow.runId || runs.includes(follow.runId)) return;
    this.patch({ runs: [...runs, follow.runId], since: runs.length ? since : Date.now() });
  }

  private async finish(follow: Follow): Promise<void> {
    this.flush();
    const runs = this.state.get().runs.filter((each) => each !== follow.runId);
    this.patch({ messages: this.state.get().messages.map((each) => (each.isLive && each.runId === follow.runId ? { ...each, isLive: false } : each)), runs, since: Date.now() });
    this.onProgress?.();
    await this.refresh();
  }

  /** The newest page as the server has it: the ids of what was sent, and what others said. */
  private async refresh(): Promise<void> {
    try {
      const page = await listMessages(this.place, null, PAGE, this.aborter.signal);
      this.patch({ messages: merge(this.state.get().messages, fromPage(page)) });
    } catch {
      /* what is shown is true; the next run or visit reads again */
    }
  }

  private patch(changes: Partial<ChatState>): void {
    this.state.set((now) => ({ ...now, ...changes }));
  }
}

function fromPage(page: readonly WireMessage[]): Msg[] {
  // What one stored message yields stands in its own order, whichever way the list was asked for.
  const groups: WireMessage[][] = [];
  for (const wire of page) {
    const group = groups.at(-1);
    if (group?.[0]?.id === wire.id) group.push(wire);
    else groups.push([wire]);
  }
  const order = ({ otid }: WireMessage) => (otid?.startsWith("message-") ? 128 : Number.parseInt((otid ?? "0").slice(-2), 16) & 0x7f);
  return groups.flatMap((group) => group.toSorted((a, b) => order(a) - order(b))).map((wire) => toMsg(wire)).filter((each) => each !== null);
}

function notice(follow: Follow, text: string): Msg {
  const key = `stop:${follow.runId}`;
  return { key, id: key, kind: "notice", date: new Date().toISOString(), stepId: null, runId: follow.runId, text, images: [], calls: [], returns: [], approvals: [], raw: null, isLive: false, isQueued: false };
}
