// Serves the addresses below /ai/chat: a message, its stream, its stop and the conversation.
import type { Channels, StopResult } from "../channels/index.ts";
import {
  assertOpen,
  isCut,
  readCallBody,
  readHops,
  readOptionalBody,
  readText,
  sessionOf,
  shortDigest,
  streamRun,
  toEndRefusal,
  type Call,
  type JoinedRun,
  type JsonReply,
  type KeptRun,
  type Protocol,
  type Route,
} from "../doors/index.ts";
import { ChunkReader } from "./chunks.ts";
import type { AiSdkConfig } from "./config.ts";
import { toUiMessages } from "./messages.ts";
import { assertChat, parseChat } from "./request.ts";

const chatPath = /^\/ai\/chat\/([^/]+)\/(stream|stop|messages)$/;
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
  `m-${shortDigest(`${session}\0${requestId}`)}`;

/** The id of a chat in a URL is encoded, so that it may contain any character. */
function decodeChat(encoded: string): string {
  let chat = "";
  try {
    chat = decodeURIComponent(encoded);
  } catch {
    // An invalid escape: rejected like an empty name.
  }
  return assertChat(chat);
}

class ChatRoutes {
  private readonly protocol: Protocol<AiSdkConfig>;
  private readonly channels: Channels;

  constructor(protocol: Protocol<AiSdkConfig>, channels: Channels) {
    this.protocol = protocol;
    this.channels = channels;
  }

  readonly find = (path: string): Route | undefined => {
    if (path === "/ai/chat") return { method: "POST", run: (call) => this.send(call) };
    const [, encoded, address] = chatPath.exec(path) ?? [];
    if (encoded === undefined) return undefined;
    const session = (): Promise<string> => sessionOf(this.protocol, decodeChat(encoded), "id");
    if (address === "stop")
      return { method: "POST", run: async (call) => this.stop(call, await session()) };
    const run = async (call: Call): Promise<JsonReply | undefined> =>
      address === "stream"
        ? this.resume(call, await session())
        : this.listMessages(await session());
    return { method: "GET", run };
  };

  private async send(call: Call): Promise<undefined> {
    const { runs, newId } = this.protocol;
    const body = await readCallBody(this.protocol, call);
    if (!body) return undefined;
    try {
      const { chat, messageId: id, content, media, ...parsed } = parseChat(body.value, newId);
      const session = await sessionOf(this.protocol, chat, "id");
      assertOpen(this.protocol);
      const { previous, metadata } = parsed;
      const joined = runs.start({
        session,
        id,
        content,
        media,
        hops: readHops(call.request),
        ...(previous.length > 0 && { previous }),
        ...(Object.keys(metadata).length > 0 && { metadata }),
        isRepeatable: true,
        settled: body.release,
      });
      return await this.stream(call, joined, answerId(session, id));
    } catch (error) {
      body.release();
      throw error;
    }
  }

  private stream({ response, cors }: Call, joined: JoinedRun, id: string): Promise<undefined> {
    const { clock, config } = this.protocol;
    return streamRun({
      response,
      joined,
      headers: { ...cors, ...streamHeaders },
      clock,
      stallMs: () => config().write_timeout * 1_000,
      stopsOnClose: () => false,
      isParallel: true,
      open: (events) => new ChunkReader(events, id),
    });
  }

  private async resume(call: Call, session: string): Promise<undefined> {
    const { runs } = this.protocol;
    const kept = runs.latest(session);
    if (kept && this.isResumable(kept))
      return this.stream(call, runs.join(kept), answerId(session, kept.request.id));
    call.response.writeHead(204, call.cors);
    call.response.end();
    return undefined;
  }

  /** An answer that runs, or whose end no page has received. */
  private isResumable({ run: { end }, state }: KeptRun): boolean {
    if (!end) return !state.isStopped;
    if (end.outcome === "stopped") return false;
    if (end.outcome === "failed" && isCut(toEndRefusal(end))) return false;
    return !state.isSeen || this.protocol.clock.monotonic() - state.endedAt! < replayMs;
  }

  /** Stops the answer with this id, or all answers of the session. */
  private async stop(call: Call, session: string): Promise<JsonReply | undefined> {
    const { runs } = this.protocol;
    const body = await readOptionalBody(this.protocol, call);
    if (!body) return undefined;
    const wanted = readText(body, "activeStreamId");
    const kept = runs.latest(session);
    const isOther =
      wanted !== undefined && (!kept || answerId(session, kept.request.id) !== wanted);
    const results: readonly StopResult[] = isOther ? [] : runs.stopSession(session);
    const stopped = results.map(({ id, status }) => ({ id: answerId(session, id), status }));
    return { value: { success: true, stopped } };
  }

  private async listMessages(session: string): Promise<JsonReply> {
    const address = { channel: "pico", session };
    const { items } = await this.channels.history(address, { limit: maxTurns });
    return { value: { messages: toUiMessages(items, (id) => answerId(session, id)) } };
  }
}

/** Creates the function that finds the route of a path. */
export const createRoutes = (protocol: Protocol<AiSdkConfig>, channels: Channels) =>
  new ChatRoutes(protocol, channels).find;
