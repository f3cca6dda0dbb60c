// Serves /ag-ui: runs, which clients may join again, and their stop.
import {
  decodeName,
  openEvents,
  Refusal,
  resolveCalls,
  sessionOf,
  startRun,
  stopAnswers,
  streamAnswer,
  withBody,
  type Call,
  type JoinedRun,
  type JsonReply,
  type KeptRun,
  type Protocol,
  type Route,
} from "../index.ts";
import type { AgUiConfig } from "./config.ts";
import { RunEvents } from "./events.ts";
import { parseInput, type RunInput } from "./input.ts";

const stopPath = /^\/ag-ui\/([^/]+)\/stop$/;

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

  private run(call: Call): Promise<undefined> {
    return withBody(this.protocol, call, parseInput, async (input, release) => {
      const session = await sessionOf(this.protocol, call, input.threadId, "threadId");
      const kept = this.findKept(session, input);
      const { turnId: id } = input;
      const turn = !kept && input.turn && (await resolveCalls(this.protocol, session, input.turn));
      if (turn) {
        const message = { session, id, turn, settled: release };
        return this.stream(call, input, startRun(this.protocol, call, message), false);
      }
      release();
      if (!kept) return this.repeat(call, input);
      return this.stream(call, input, this.protocol.runs.join(kept, call.access.sender), true);
    });
  }

  /** The answer that the client does not begin: the one to its message, or the one in progress. */
  private findKept(session: string, { turn, turnId }: RunInput): KeptRun | undefined {
    const { runs } = this.protocol;
    if (turn) return runs.find(session, turnId);
    const latest = runs.latest(session);
    return latest?.run.end ? undefined : latest;
  }

  private async stream(
    call: Call,
    input: RunInput,
    joined: JoinedRun,
    isJoined: boolean,
  ): Promise<undefined> {
    const names = this.runIds.get(joined.run) ?? new Set();
    this.runIds.set(joined.run, names.add(input.runId));
    const present = isJoined ? joined.run.present() : undefined;
    try {
      return await streamAnswer(this.protocol, call, joined, {
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
  private repeat(call: Call, input: RunInput): undefined {
    const events = openEvents(this.protocol, call);
    new RunEvents(events, input, []).over({
      outcome: "completed",
      finishReason: "stop",
      messages: 0,
    });
    return undefined;
  }

  private async stop(call: Call, encoded: string): Promise<JsonReply | undefined> {
    const { protocol, runIds } = this;
    const session = await sessionOf(protocol, call, decodeName(encoded, "threadId"), "threadId");
    return stopAnswers(protocol, call, {
      session,
      param: "runId",
      matches: ({ run }, wanted) => runIds.get(run)?.has(wanted) === true,
      toClientId: (id) => id.replace(/^ag:/, ""),
    });
  }
}

/** Creates the function that finds the route of a path. */
export const createRoutes = (protocol: Protocol<AgUiConfig>) => new RunRoutes(protocol).find;

/** Says what there is instead of an address without a route. */
export const explainAddress = (_path: string, address: string): string =>
  `There is nothing at this address. The URL for clients is ${address}. ` +
  "Doorward serves POST /ag-ui and POST /ag-ui/THREAD/stop.";
