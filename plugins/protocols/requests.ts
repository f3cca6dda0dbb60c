// Steps of a request that all protocols share: names, body, message, answer and stop.
import type { CommonConfig } from "./config.ts";
import { resolveSession } from "../pico-server/handshake/identity.ts";
import { readJson, type JsonBody } from "./body.ts";
import { readText, unsupported, type JsonObject } from "./fields.ts";
import { storeFiles, uploadsName } from "./files.ts";
import { accessEnded, refuse } from "./refusal.ts";
import type { JoinedRun, KeptRun } from "./runs.ts";
import type { Protocol } from "./protocol.ts";
import type { Call, JsonReply } from "./server.ts";
import { readHops, toSession } from "./session.ts";
import { EventWriter } from "./sse.ts";
import { streamRun, type StreamOptions } from "./stream.ts";
import type { Turn } from "./turn.ts";

type AnyProtocol = Protocol<CommonConfig>;

/** Decodes a part of a path. */
export function decodeName(encoded: string, param: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw unsupported(param, "The URL contains an invalid escape.");
  }
}

/**
 * @param name - The name that the client gave.
 * @param param - The field or header that contains it.
 * @returns The session of the channel.
 */
export async function sessionOf(
  { name: prefix, config, channel }: AnyProtocol,
  { access }: Call,
  name: string,
  param: string,
): Promise<string> {
  const isShared = config().sessions === "shared";
  const session = toSession(name, { prefix, isShared, param });
  if (await channel.isToken(name))
    throw unsupported(param, "The session name must not be a token.");
  const resolved = resolveSession(access, session, () => session);
  if (resolved !== undefined) return resolved;
  // The same text whether or not the session exists.
  throw refuse("session_forbidden", "You may not use this session.", { param });
}

/** A request that was read. */
interface ParsedBody<P> extends Pick<JsonBody, "release" | "digest"> {
  readonly parsed: P;
}

async function parseBody<P>(
  protocol: AnyProtocol,
  call: Call,
  parse: (body: JsonObject) => P,
): Promise<ParsedBody<P> | undefined> {
  const body = await readCallBody(protocol, call);
  if (!body) return undefined;
  const { value, release, digest } = body;
  try {
    return { parsed: parse(value), release, digest };
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Reads the body and uses it. Releases its share of the memory budget if that fails. `use` lasts as
 * long as the answer, so the body itself does not.
 *
 * @returns Undefined if the client has left.
 */
export async function withBody<P, T>(
  protocol: AnyProtocol,
  call: Call,
  parse: (body: JsonObject) => P,
  use: (parsed: P, release: () => void, digest: string | undefined) => Promise<T>,
): Promise<T | undefined> {
  const body = await parseBody(protocol, call, parse);
  if (!body) return undefined;
  try {
    return await use(body.parsed, body.release, body.digest);
  } catch (error) {
    body.release();
    throw error;
  }
}

async function readCallBody(
  { config, clock, channel }: AnyProtocol,
  { request, access, enter }: Call,
): Promise<JsonBody | undefined> {
  const maxBytes = config().max_body;
  // Only these clients repeat requests on their own.
  const isDigested = request.headers["x-stainless-retry-count"] !== undefined;
  const body = await readJson(request, { maxBytes, clock, memory: channel.body(), isDigested });
  if (!body) return undefined;
  try {
    // The token may have been replaced, or the person signed out, while the body arrived.
    if (access.isCurrent?.() === false || access.ending?.aborted) throw accessEnded();
    enter();
    return body;
  } catch (error) {
    body.release();
    throw error;
  }
}

/** Reads a body that may be absent. */
async function readOptionalBody(
  protocol: AnyProtocol,
  call: Call,
): Promise<JsonObject | undefined> {
  const { headers } = call.request;
  if (!headers["transfer-encoding"] && !Number(headers["content-length"] ?? 0)) {
    call.enter();
    return {};
  }
  const body = await readCallBody(protocol, call);
  body?.release();
  return body?.value;
}

/**
 * Matches the results of a message, and the calls of its earlier turns, with the calls that its
 * session has asked for. Stores its files.
 *
 * @throws Refusal for a result of an unknown call, or a file that cannot be stored.
 */
export async function prepareTurn(
  protocol: AnyProtocol,
  call: Call,
  session: string,
  given: Turn,
): Promise<Turn> {
  const { calls } = protocol;
  const uploads = (): Promise<string> => sessionOf(protocol, call, uploadsName, "file_id");
  const { sender } = call.access;
  const turn = await storeFiles(protocol, { session, sender: sender.id, uploads }, given);
  const { toolResults } = turn;
  const previous = calls.restore(session, turn.previous);
  const results = toolResults && (await calls.resolve(session, toolResults));
  return { ...turn, previous, ...(results && { toolResults: results }) };
}

interface MessageOptions {
  readonly session: string;
  readonly id: string;
  readonly turn: Turn;
  /** False if the id is new with each request. @defaultValue `true` */
  readonly isRepeatable?: boolean;
  /** The answer is forgotten before those with a key of the client. @defaultValue `false` */
  readonly isExpendable?: boolean;
  /** Called once the application has accepted or rejected the message. */
  readonly settled: () => void;
}

/** Delivers a message, or joins the answer to the same one. */
export function startRun(
  { isOpen, runs }: AnyProtocol,
  { request, access }: Call,
  { session, id, turn, isRepeatable = true, isExpendable = false, settled }: MessageOptions,
): JoinedRun {
  if (!isOpen())
    throw refuse("not_running", "Doorward is starting or stopping.", {
      headers: { "Retry-After": "1" },
    });
  const { content, media, previous, metadata, left: _, ...rest } = turn;
  const hops = readHops(request);
  const { sender } = access;
  const keeping = { isRepeatable, isExpendable, settled };
  const message = { session, id, content, media, hops, sender, ...keeping };
  return runs.start({
    ...message,
    ...rest,
    ...(previous.length > 0 && { previous }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  });
}

/** Begins a response whose events the caller writes itself. */
export function openEvents(
  { clock, config, http }: AnyProtocol,
  { response, cors: headers }: Call,
): EventWriter {
  const stallMs = (): number => config().write_timeout * 1_000;
  return new EventWriter({ response, http, clock, stallMs, onDrain: () => undefined }, headers);
}

/** Streams an answer as the response. */
export function streamAnswer(
  { clock, config, http }: AnyProtocol,
  { response, cors, access, stopsOnClose }: Call,
  joined: JoinedRun,
  options: Pick<StreamOptions, "open"> & Partial<StreamOptions>,
): Promise<undefined> {
  return streamRun({
    response,
    http,
    joined,
    access,
    clock,
    stallMs: () => config().write_timeout * 1_000,
    stopsOnClose,
    ...options,
    headers: { ...cors, ...options.headers },
  });
}

interface StopOptions {
  readonly session: string;
  /** The field that selects an answer. Without it, all answers of the session stop. */
  readonly param: string;
  readonly matches: (kept: KeptRun, wanted: string) => boolean;
  /** Returns the id that the client knows. */
  readonly toClientId: (id: string) => string;
}

/** Serves `POST …/stop`. */
export async function stopAnswers(
  protocol: AnyProtocol,
  call: Call,
  { session, param, matches, toClientId }: StopOptions,
): Promise<JsonReply | undefined> {
  const body = await readOptionalBody(protocol, call);
  if (!body) return undefined;
  const wanted = readText(body, param);
  const isWanted = wanted === undefined ? undefined : (kept: KeptRun) => matches(kept, wanted);
  const results = await protocol.runs.stop(session, call.access.sender, isWanted);
  const stopped = results.map(({ id, status }) => ({ id: toClientId(id), status }));
  return { value: { success: true, stopped } };
}
