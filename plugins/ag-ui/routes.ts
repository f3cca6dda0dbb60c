// Serves /ag-ui: runs, which clients may join again, and their stop.
import {
  assertOpen,
  EventWriter,
  readCallBody,
  readHops,
  readOptionalBody,
  readText,
  Refusal,
  sessionOf,
  streamRun,
  unsupported,
  type Call,
  type JoinedRun,
  type JsonReply,
  type KeptRun,
  type Protocol,
  type Route,
} from "../doors/index.ts";
import type { AgUiConfig } from "./config.ts";
import { RunEvents } from "./events.ts";
import { parseInput, type RunInput } from "./input.ts";

const stopPath = /^\/ag-ui\/([^/]+)\/stop$/;

function decodeThread(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw unsupported("threadId", "The URL contains an invalid escape.");
  }
}

class RunRoutes {
  private readonly protocol: Protocol<AgUiConfig>;
  /** The names that clients gave to an answer. */
  private readonly runIds = new WeakMap<KeptRun["run"], Set<string>>();

  constructor(protocol: Protocol<AgUiConfig>) {
    this.protocol = protocol;
  }

  readonly find = (path: string): Route | undefined => {
    if (path === "/ag-ui") return { method: "POST", run: (call) => this.run(call) };
    const [, encoded] = stopPath.exec(path) ?? [];
    if (encoded === undefined) return undefined;
    return { method: "POST", run: (call) => this.stop(call, encoded) };
  };

  private async run(call: Call): Promise<undefined> {
    const { runs } = this.protocol;
    const body = await readCallBody(this.protocol, call);
    if (!body) return undefined;
    try {
      const input = parseInput(body.value);
      const session = await sessionOf(this.protocol, input.threadId, "threadId");
      assertOpen(this.protocol);
      const kept = this.findKept(session, input);
      if (kept) {
        body.release();
        return await this.stream(call, input, runs.join(kept), true);
      }
      if (input.turn) {
        const joined = this.start(call, input.turn, session, body.release);
        return await this.stream(call, input, joined, false);
      }
      body.release();
      return this.repeat(call, input);
    } catch (error) {
      body.release();
      throw error;
    }
  }

  /** The answer that the client does not begin: the one to its message, or the one in progress. */
  private findKept(session: string, { turn }: RunInput): KeptRun | undefined {
    const { runs } = this.protocol;
    if (turn) return runs.find(session, turn.messageId);
    const latest = runs.latest(session);
    return latest?.run.end ? undefined : latest;
  }

  private start(
    { request }: Call,
    { messageId: id, content, media, previous, metadata }: NonNullable<RunInput["turn"]>,
    session: string,
    settled: () => void,
  ): JoinedRun {
    return this.protocol.runs.start({
      session,
      id,
      content,
      media,
      hops: readHops(request),
      ...(previous.length > 0 && { previous }),
      metadata,
      isRepeatable: true,
      settled,
    });
  }

  private async stream(
    call: Call,
    input: RunInput,
    joined: JoinedRun,
    isJoined: boolean,
  ): Promise<undefined> {
    const { clock, config } = this.protocol;
    const names = this.runIds.get(joined.run) ?? new Set();
    this.runIds.set(joined.run, names.add(input.runId));
    const present = isJoined ? joined.run.present() : undefined;
    try {
      return await streamRun({
        response: call.response,
        joined,
        headers: call.cors,
        clock,
        stallMs: () => config().write_timeout * 1_000,
        stopsOnClose: () => false,
        isParallel: true,
        skipsSent: isJoined,
        open: (events) => new RunEvents(events, input, present),
      });
    } catch (error) {
      // The session has the message already, and its answer is no longer kept.
      if (error instanceof Refusal && error.code === "id_reused") return this.repeat(call, input);
      throw error;
    }
  }

  /** Replies to a request without a new message and without an answer in progress. */
  private repeat({ response, cors }: Call, input: RunInput): undefined {
    const { clock, config } = this.protocol;
    const stallMs = (): number => config().write_timeout * 1_000;
    const events = new EventWriter({ response, clock, stallMs, onDrain: () => undefined }, cors);
    new RunEvents(events, input, []).over({
      outcome: "completed",
      finishReason: "stop",
      messages: 0,
    });
    return undefined;
  }

  private async stop(call: Call, encoded: string): Promise<JsonReply | undefined> {
    const { runs } = this.protocol;
    const session = await sessionOf(this.protocol, decodeThread(encoded), "threadId");
    const body = await readOptionalBody(this.protocol, call);
    if (!body) return undefined;
    const runId = readText(body, "runId");
    const latest = runs.latest(session);
    const isOther = runId !== undefined && !(latest && this.runIds.get(latest.run)?.has(runId));
    const results = isOther ? [] : runs.stopSession(session);
    const stopped = results.map(({ id, status }) => ({ id: id.replace(/^ag:/, ""), status }));
    return { value: { success: true, stopped } };
  }
}

/** Creates the function that finds the route of a path. */
export const createRoutes = (protocol: Protocol<AgUiConfig>) => new RunRoutes(protocol).find;
