// Serves the addresses below /ai/chat: a message, its stream, its stop and the conversation.
import { toAnswerResponse } from "../../pico-server/http/post-in-session.ts";
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
import { isCut, toEndRefusal } from "../errors.ts";
import type { JsonObject } from "../fields.ts";
import { openEnd, type RunMark } from "../follower.ts";
import type { Protocol } from "../protocol.ts";
import { streamAnswer } from "../stream.ts";
import type { KeptRun } from "../runs.ts";
import type { Call, JsonReply, Route } from "../server.ts";
import { shortDigest } from "../session.ts";
import { readAnswer, type PageAnswer } from "./cards.ts";
import type { Continued } from "./card-chunks.ts";
import { ChunkReader } from "./chunks.ts";
import type { AiSdkConfig } from "./config.ts";
import { toUiMessages } from "./messages.ts";
import { assertChat, continuedId, parseChat, type ChatRequest } from "./request.ts";
import { EventWriter } from "../sse.ts";

const chatPath = /^\/ai\/chat\/([^/]+)\/(stream|stop|messages|answer)$/;
const filePath = /^\/ai\/files\/(m_[0-9a-f]{48})$/;
/** A page that has received the end does not need it again, but it may have lost it on the way. */
const replayMs = 10_000;
const maxTurns = 200;

const streamHeaders = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache",
  "X-Vercel-AI-UI-Message-Stream": "v1",
};

/** The id of the answer to a message, which stays the same when the stream is resumed. */
const answerId = (session: string, requestId: string): string =>
  continuedId(requestId) ?? `m-${shortDigest(`${session}\0${requestId}`)}`;

interface StreamFields {
  readonly id: string;
  readonly ignored?: string;
  readonly continued?: Continued;
  readonly from?: RunMark | undefined;
}

export class ChatRoutes {
  private readonly protocol: Protocol<AiSdkConfig>;

  constructor(protocol: Protocol<AiSdkConfig>) {
    this.protocol = protocol;
  }

  readonly find = (path: string): Route | readonly Route[] | undefined => {
    if (path === "/ai/chat") return { method: "POST", run: (call) => this.send(call) };
    const [, file] = filePath.exec(path) ?? [];
    if (file !== undefined) return downloadRoutes(this.protocol, file);
    const [, encoded, address] = chatPath.exec(path) ?? [];
    if (encoded === undefined) return undefined;
    const run = async (call: Call): Promise<JsonReply | undefined> => {
      const chat = assertChat(decodeName(encoded, "id"));
      const session = await sessionOf(this.protocol, call, chat, "id");
      if (address === "stop") return this.stop(call, session);
      if (address === "answer") return this.answer(call, session);
      return address === "stream" ? this.resume(call, session) : this.listMessages(session);
    };
    if (address === "stop") return { method: "POST", rights: [], run };
    if (address === "answer") return { method: "POST", rights: ["answer"], run };
    return { method: "GET", run };
  };

  private send(call: Call): Promise<undefined> {
    const { protocol } = this;
    const parse = (body: JsonObject): ChatRequest => parseChat(body, protocol);
    return withBody(protocol, call, parse, async (parsed, settled) => {
      const { chat, messageId: id, ignored } = parsed;
      const session = await sessionOf(protocol, call, chat, "id");
      if (!parsed.turn) {
        settled();
        return this.continueWith(call, session, id, parsed.answers ?? []);
      }
      const turn = await prepareTurn(protocol, call, session, parsed.turn);
      const before = await questionBefore(protocol, call, { session, id, turn });
      if (before) {
        settled();
        return this.explain(call, answerId(session, id), before);
      }
      const run = startRun(protocol, call, { session, id, turn, settled });
      return this.stream(call, run, { id: answerId(session, id), ignored });
    });
  }

  /** Says why a message is not delivered. */
  private explain(call: Call, messageId: string, { id, text }: QuestionBefore): undefined {
    const headers = { ...streamHeaders, "X-Doorward-Question": id };
    const events = new EventWriter(this.protocol, call, headers);
    const reader = new ChunkReader(events, messageId, { fileUrl: this.protocol.fileUrl });
    reader.grew(id, "text", text);
    reader.over(openEnd);
  }

  /** Answers questions, and sends the rest of the answer that has asked them. */
  private async continueWith(
    call: Call,
    session: string,
    messageId: string,
    answers: readonly PageAnswer[],
  ): Promise<undefined> {
    const { protocol } = this;
    const answered = await answerQuestions(protocol, session, answers, call.access);
    const { run, from, results, unknown, settled } = answered;
    const ids = answers.map(({ id }) => id);
    const rejected = ids.filter((id) => results.get(id)?.status === "invalid");
    const continued = { answers, rejected, unknown, settled };
    if (run) return this.stream(call, run, { id: messageId, continued, from });
    const events = new EventWriter(protocol, call, streamHeaders);
    new ChunkReader(events, messageId, { fileUrl: protocol.fileUrl, continued }).over(openEnd);
    return undefined;
  }

  private stream(
    call: Call,
    run: KeptRun,
    { id, ignored = "", continued, from }: StreamFields,
  ): Promise<undefined> {
    return streamAnswer(this.protocol, call, run, {
      headers: { ...streamHeaders, ...(ignored !== "" && { "X-Doorward-Ignored": ignored }) },
      isParallel: true,
      from,
      endsOn: () => this.protocol.config().questions === "finish",
      open: (events) => new ChunkReader(events, id, { fileUrl: this.protocol.fileUrl, continued }),
    });
  }

  private async resume(call: Call, session: string): Promise<undefined> {
    const { runs } = this.protocol;
    const kept = runs.latest(session);
    if (kept && this.isResumable(kept))
      return this.stream(call, kept, {
        id: answerId(session, kept.requestId),
      });
    call.response.writeHead(204, call.cors);
    call.response.end();
    return undefined;
  }

  /** An answer that runs, or whose end no page has received. */
  private isResumable({ end, endedAt, isSeen, isStopped }: KeptRun): boolean {
    if (!end) return !isStopped;
    if (end.outcome === "stopped") return false;
    if (end.outcome === "failed" && isCut(toEndRefusal(end))) return false;
    return !isSeen || this.protocol.clock.monotonic() - endedAt! < replayMs;
  }

  /** Answers a question. The stream that shows it goes on by itself. */
  private answer(call: Call, session: string): Promise<JsonReply | undefined> {
    const { protocol } = this;
    return withBody(protocol, call, readAnswer, async (answer, release) => {
      const { results } = await answerQuestions(
        protocol,
        session,
        [answer],
        call.access,
        () => false,
      );
      release();
      const { status, body: value } = toAnswerResponse(results.get(answer.id)!);
      return { status, value };
    });
  }

  private stop(call: Call, session: string): Promise<JsonReply | undefined> {
    const toClientId = (id: string): string => answerId(session, id);
    return stopAnswers(this.protocol, call, {
      session,
      param: "activeStreamId",
      matches: ({ requestId }, wanted) => toClientId(requestId) === wanted,
      toClientId,
    });
  }

  private async listMessages(session: string): Promise<JsonReply> {
    const address = { channel: "pico", session };
    const { items } = await this.protocol.channels.history(address, { limit: maxTurns });
    const open = (await this.protocol.channel.questions(session)) ?? [];
    const answerIdOf = (id: string): string => answerId(session, id);
    const { fileUrl } = this.protocol;
    return { value: { messages: toUiMessages(items, { answerIdOf, fileUrl, open }) } };
  }
}

/** Says what there is instead of an address without a route. */
export const explainAddress = (_path: string, address: string): string =>
  `There is nothing at this address. The URL for clients is ${address}/chat. ` +
  "Doorward serves POST /ai/chat, GET /ai/chat/ID/stream, POST /ai/chat/ID/stop, " +
  "POST /ai/chat/ID/answer, GET /ai/chat/ID/messages and GET /ai/files/ID.";
