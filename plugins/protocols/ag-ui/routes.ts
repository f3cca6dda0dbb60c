// Serves /ag-ui: runs, which clients may join again, and their stop.
import { isRequestError } from "../../http/request-error.ts";
import {
  downloadRoutes,
  decodeName,
  prepareTurn,
  questionBefore,
  sessionOf,
  startRun,
  stopAnswers,
  withBody,
  type QuestionBefore,
} from "../requests.ts";
import { answerQuestions } from "../answers.ts";
import type { JsonObject } from "../fields.ts";
import type { Protocol } from "../protocol.ts";
import { streamAnswer } from "../stream.ts";
import type { KeptRun } from "../runs.ts";
import type { Call, JsonReply, Route } from "../server.ts";
import type { AgUiConfig } from "./config.ts";
import { RunEvents, type Settled } from "./events.ts";
import { parseInput, type RunInput } from "./input.ts";
import { markOf, openEnd } from "../follower.ts";
import { EventWriter } from "../sse.ts";

const filePath = /^\/ag-ui\/files\/(m_[0-9a-f]{48})$/;
const stopPath = /^\/ag-ui\/([^/]+)\/stop$/;

interface StreamFields {
  readonly isJoined: boolean;
  readonly settled: Settled;
}

/** Whether the client sends a message of the user, and not only answers. */
const isNewMessage = ({ messages }: RunInput): boolean => messages.at(-1)?.role === "user";

export class RunRoutes {
  private readonly protocol: Protocol<AgUiConfig>;
  /** The names that clients gave to an answer. */
  private readonly runIds = new WeakMap<KeptRun, Set<string>>();

  constructor(protocol: Protocol<AgUiConfig>) {
    this.protocol = protocol;
  }

  readonly find = (path: string): Route | readonly Route[] | undefined => {
    if (path === "/ag-ui") return { method: "POST", run: (call) => this.run(call) };
    const [, file] = filePath.exec(path) ?? [];
    if (file !== undefined) return downloadRoutes(this.protocol, file);
    const [, encoded] = stopPath.exec(path) ?? [];
    if (encoded === undefined) return undefined;
    return { method: "POST", rights: [], run: (call) => this.stop(call, encoded) };
  };

  private run(call: Call): Promise<undefined> {
    const parse = (body: JsonObject): RunInput => parseInput(body, this.protocol);
    return withBody(this.protocol, call, parse, async (input, release) => {
      const session = await sessionOf(this.protocol, call, input.threadId, "threadId");
      const { settled, run: joined } = await this.answer(call, session, input);
      const kept = joined ?? this.findKept(session, input);
      const { turnId: id } = input;
      // After a restart, the last message of the user is not a new one if there are only answers.
      const isTurn = !kept && (input.resume.length === 0 || isNewMessage(input));
      const turn =
        isTurn && input.turn && (await prepareTurn(this.protocol, call, session, input.turn));
      const before = turn && (await questionBefore(this.protocol, call, { session, id, turn }));
      if (before) {
        release();
        return this.explain(call, input, before);
      }
      if (turn) {
        const message = { session, id, turn, settled: release };
        const run = startRun(this.protocol, call, message);
        return this.stream(call, input, run, { isJoined: false, settled });
      }
      release();
      if (!kept) return this.repeat(call, input, settled);
      return this.stream(call, input, kept, { isJoined: true, settled });
    });
  }

  /** Says why a message is not delivered. */
  private explain(call: Call, input: RunInput, { id, text }: QuestionBefore): undefined {
    const events = new EventWriter(this.protocol, call, { "X-Doorward-Question": id });
    const reader = new RunEvents(events, input, { fileUrl: this.protocol.fileUrl });
    // Each reply is another message of the client.
    reader.grew(`${id}:${input.runId}`, "text", text);
    reader.over(openEnd);
  }

  /** Answers the interrupts that the client resumes. None of them is an error. */
  private async answer(
    call: Call,
    session: string,
    input: RunInput,
  ): Promise<{ readonly settled: Settled; readonly run: KeptRun | undefined }> {
    const { protocol } = this;
    const { resume, turnId } = input;
    // The question may have been the whole answer to the last message.
    const follows = ({ inReplyTo }: { readonly inReplyTo: string | undefined }): boolean =>
      !isNewMessage(input) || inReplyTo === turnId;
    const { results, run } = await answerQuestions(protocol, session, resume, call.access, follows);
    // After an answer that is not valid, the next interrupt asks again.
    const noted = [...results].filter(([, { status }]) => status !== "invalid");
    return { settled: new Map(noted.map(([id, result]) => [id, result.settled])), run };
  }

  /** The answer that the client does not begin: the one to its message, or the one in progress. */
  private findKept(session: string, input: RunInput): KeptRun | undefined {
    const { turn, turnId, resume } = input;
    const { runs } = this.protocol;
    const ids = resume.map(({ id }) => id);
    const asking = runs.asking(session, ids);
    if (asking && (!isNewMessage(input) || asking.requestId === turnId)) return asking;
    if (turn) return runs.find(session, turnId);
    const latest = runs.latest(session);
    return latest?.end ? undefined : latest;
  }

  private async stream(
    call: Call,
    input: RunInput,
    run: KeptRun,
    { isJoined, settled }: StreamFields,
  ): Promise<undefined> {
    const names = this.runIds.get(run) ?? new Set();
    this.runIds.set(run, names.add(input.runId));
    const present = isJoined ? run.present() : undefined;
    try {
      return await streamAnswer(this.protocol, call, run, {
        isParallel: true,
        from: isJoined ? markOf(run.messages) : undefined,
        endsOn: () => true,
        open: (events) =>
          new RunEvents(events, input, { fileUrl: this.protocol.fileUrl, present, settled }),
      });
    } catch (error) {
      // The session has the message already, and its answer is no longer kept.
      if (isRequestError(error) && error.code === "id_reused")
        return this.repeat(call, input, settled);
      throw error;
    }
  }

  /** Replies to a request without a new message and without an answer in progress. */
  private repeat(call: Call, input: RunInput, settled: Settled): undefined {
    const events = new EventWriter(this.protocol, call);
    const { fileUrl } = this.protocol;
    new RunEvents(events, input, { fileUrl, present: [], settled }).over(openEnd);
    return undefined;
  }

  private async stop(call: Call, encoded: string): Promise<JsonReply | undefined> {
    const { protocol, runIds } = this;
    const session = await sessionOf(protocol, call, decodeName(encoded, "threadId"), "threadId");
    return stopAnswers(protocol, call, {
      session,
      param: "runId",
      matches: (run, wanted) => runIds.get(run)?.has(wanted) === true,
      toClientId: (id) => id.replace(/^ag:/, ""),
    });
  }
}

/** Says what there is instead of an address without a route. */
export const explainAddress = (_path: string, address: string): string =>
  `There is nothing at this address. The URL for clients is ${address}. ` +
  "Doorward serves POST /ag-ui, POST /ag-ui/THREAD/stop and GET /ag-ui/files/ID.";
