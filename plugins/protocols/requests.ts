// Steps of a request that all protocols share: names, body, message, answers, stop and files.
import type { IncomingMessage } from "node:http";
import { isSessionId, parseObject } from "../../lib/pico-wire/index.ts";
import { bodyType, readBody } from "../http/kit.ts";
import { noStopRight, resolveSession, toStopper } from "../pico-server/handshake/identity.ts";
import type { PicoProtocol } from "../pico-server/index.ts";
import { readText, unsupported, type JsonObject } from "./fields.ts";
import {
  afterReading,
  sha256Of,
  storeFiles,
  uploadsName,
  unknownFile,
  toFileRefusal,
} from "./files.ts";
import type { Protocol } from "./protocol.ts";
import { titleOf, waitingLine } from "./questions.ts";
import { accessEnded, refuse, type Refusal } from "./errors.ts";
import type { KeptRun, RunRequest } from "./runs.ts";
import type { Call, JsonReply, Route } from "./server.ts";
import { readHops } from "./session.ts";
import type { Turn } from "./turn.ts";
import type { StoredFile } from "../media/index.ts";

type BodyMemory = ReturnType<PicoProtocol["body"]>;

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
  { name: prefix, config, channel }: Protocol,
  { access }: Call,
  name: string,
  param: string,
): Promise<string> {
  const isShared = config().sessions === "shared";
  const session = isShared ? name : `${prefix}/${name}`;
  if (!isSessionId(session)) {
    const maxBytes = isShared ? 256 : 255 - prefix.length;
    const limit = `at most ${maxBytes} bytes, without control characters`;
    throw unsupported(param, `The session name may have ${limit}.`);
  }
  if (await channel.isToken(name))
    throw unsupported(param, "The session name must not be a token.");
  const { scope } = access;
  const resolved = scope?.resolveNamed
    ? scope.resolveNamed(name, session, name === uploadsName)
    : resolveSession(access, session, () => session);
  if (resolved !== undefined) return resolved;
  // The same text whether or not the session exists.
  throw refuse("session_forbidden", "You may not use this session.", { param });
}

function assertJson(request: IncomingMessage): void {
  const type = bodyType(request);
  if (type === "application/json") return;
  const { headers } = request;
  const hasBody =
    headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
  if (!hasBody && type === "") throw invalidJson();
  const message = "The body must have Content-Type: application/json.";
  throw refuse("unsupported_media_type", message);
}

const invalidJson = (): Refusal =>
  refuse(
    "invalid_json",
    "The body must be a JSON object in UTF-8 with at most 64 levels and 65,536 values.",
  );
const bodyProblems = {
  body_too_large: (maxBytes: number) =>
    refuse("too_large", `The body may have at most ${maxBytes} bytes.`),
  request_timeout: () => refuse("body_timeout", "The body arrived too slowly."),
  busy: () => {
    const message = "Too many messages wait for the application. Try again shortly.";
    return refuse("rate_limited", message, { headers: { "Retry-After": "1" } });
  },
};

interface JsonBody {
  readonly value: JsonObject;
  /** SHA-256 of the bytes; undefined unless the client repeats requests on its own. */
  readonly digest: string | undefined;
}

/**
 * Reads the body within limits on size, time, memory, depth and values.
 *
 * @returns Undefined if the client closed the connection.
 */
async function readJson(
  { config, clock }: Protocol,
  { request, access, enter }: Call,
  { reserve, arrived }: BodyMemory,
): Promise<JsonBody | undefined> {
  assertJson(request);
  const maxBytes = config().max_body;
  const body = await readBody(request, { maxBytes, clock, reserve });
  if (body === undefined) return undefined;
  if (typeof body === "string") throw bodyProblems[body](maxBytes);
  arrived();
  const value = parseObject(body);
  if (value === undefined) throw invalidJson();
  await afterReading(body.byteLength);
  // The token may have been replaced, or the person signed out, while the body arrived.
  if (access.isCurrent?.() === false || access.ending?.aborted) throw accessEnded();
  enter();
  const isDigested = request.headers["x-stainless-retry-count"] !== undefined;
  return { value, digest: isDigested ? await sha256Of(body) : undefined };
}

/**
 * Reads the body and uses it. Releases its share of the memory budget if that fails.
 *
 * @param use - Calls `release` once the application has accepted or rejected the message.
 * @returns Undefined if the client has left.
 */
export async function withBody<P, T>(
  protocol: Protocol,
  call: Call,
  parse: (body: JsonObject) => P,
  use: (parsed: P, release: () => void, digest: string | undefined) => Promise<T>,
): Promise<T | undefined> {
  const memory = protocol.channel.body();
  // `use` lasts as long as the answer, so the body itself does not.
  const read = async () => {
    const body = await readJson(protocol, call, memory);
    return body && { parsed: parse(body.value), digest: body.digest };
  };
  try {
    const body = await read();
    if (body) return await use(body.parsed, memory.release, body.digest);
  } catch (error) {
    memory.release();
    throw error;
  }
  memory.release();
  return undefined;
}

/** Reads a body that may be absent. */
async function readOptionalBody(protocol: Protocol, call: Call): Promise<JsonObject | undefined> {
  const { headers } = call.request;
  if (!headers["transfer-encoding"] && !Number(headers["content-length"] ?? 0)) {
    call.enter();
    return {};
  }
  const memory = protocol.channel.body();
  try {
    return (await readJson(protocol, call, memory))?.value;
  } finally {
    memory.release();
  }
}

/**
 * Matches the results of a message, and the calls of its earlier turns, with the calls that its
 * session has asked for. Stores its files.
 *
 * @throws Refusal for a result of an unknown call, or a file that cannot be stored.
 */
export async function prepareTurn(
  protocol: Protocol,
  call: Call,
  session: string,
  given: Turn,
): Promise<Turn> {
  const { calls } = protocol;
  const uploads = (): Promise<string> => sessionOf(protocol, call, uploadsName, "file_id");
  const { sender } = call.access;
  const turn = await storeFiles(protocol, { session, sender: sender.id, uploads }, given);
  const { toolResults } = turn;
  const previous = await calls.restore(session, turn.previous);
  const results = toolResults && (await calls.resolve(session, toolResults));
  return { ...turn, previous, ...(results && { toolResults: results }) };
}

interface MessageOptions
  extends
    Pick<RunRequest, "session" | "id" | "settled">,
    Partial<Pick<RunRequest, "isRepeatable" | "isExpendable" | "place">> {
  readonly turn: Turn;
}

/** Delivers a message, or joins the answer to the same one. */
export function startRun(
  { isOpen, runs }: Protocol,
  { request, access }: Call,
  { session, id, turn, isRepeatable = true, isExpendable = false, place, settled }: MessageOptions,
): KeptRun {
  if (!isOpen())
    throw refuse("not_running", "Doorward is starting or stopping.", {
      headers: { "Retry-After": "1" },
    });
  const { previous, metadata, left: _, ...fields } = turn;
  const message = { session, id, isRepeatable, isExpendable, place, settled, ...fields };
  return runs.start({
    ...message,
    hops: readHops(request),
    sender: access.sender,
    ...(previous.length > 0 && { previous }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
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
  protocol: Protocol,
  call: Call,
  { session, param, matches, toClientId }: StopOptions,
): Promise<JsonReply | undefined> {
  const body = await readOptionalBody(protocol, call);
  if (!body) return undefined;
  const wanted = readText(body, param);
  const isWanted = wanted === undefined ? undefined : (kept: KeptRun) => matches(kept, wanted);
  const by = toStopper(call.access);
  if (!by) throw refuse("not_allowed", noStopRight(call.access));
  const results = await protocol.runs.stop(session, by, isWanted);
  const stopped = results.map(({ id, status }) => ({ id: toClientId(id), status }));
  return { value: { success: true, stopped } };
}

/** A question for which a message of its session would wait. */
export interface QuestionBefore {
  readonly id: string;
  /** The title of the question, and the address of the page that answers it. */
  readonly text: string;
}

/**
 * Returns the open question for which a new message would wait: no client would show the
 * reason. Results of tools and repeated requests pass.
 */
export async function questionBefore(
  protocol: Protocol,
  { request }: Call,
  { session, id, turn }: Pick<MessageOptions, "session" | "id" | "turn">,
): Promise<QuestionBefore | undefined> {
  const { channel, runs } = protocol;
  if (turn.toolResults || runs.find(session, id)) return undefined;
  const open = await channel.questions(session);
  const asked = open?.find(({ question }) => question.durable === undefined);
  if (!asked) return undefined;
  const address = protocol.askAddress(request, session, asked.id);
  const text = `${titleOf(asked)}\n\n${waitingLine(address)}`;
  return { id: asked.id, text };
}

/** Whether the client may send messages to the session of the file. */
function mayUseSession({ name, config }: Protocol, call: Call, session: string): boolean {
  const { scope } = call.access;
  if (scope) return scope.resolve(session) === session;
  return config().sessions === "shared" || session.startsWith(`${name}/`);
}

async function mayRead(protocol: Protocol, call: Call, file: StoredFile): Promise<boolean> {
  if (file.channel !== "pico" || !mayUseSession(protocol, call, file.session)) return false;
  // A host may give several people the same session of uploads.
  const uploads = await sessionOf(protocol, call, uploadsName, "file");
  return file.session !== uploads || file.sender === call.access.sender.id;
}

/** A file of another client has the same response as an unknown one. */
async function download(protocol: Protocol, call: Call, id: string): Promise<undefined> {
  const { media, http } = protocol;
  const { request, response, cors: headers } = call;
  try {
    const file = await media?.get(id);
    if (!media || !file || !(await mayRead(protocol, call, file))) throw unknownFile();
    const hold = (bytes: number) => http.holdResponse(response, bytes);
    await media.send(file, request, response, { hold, headers });
  } catch (error) {
    throw toFileRefusal(protocol, error);
  }
}

/** Returns the routes of the address of one file. */
export function downloadRoutes(protocol: Protocol, id: string): readonly Route[] {
  const run = (call: Call): Promise<undefined> => download(protocol, call, id);
  return [
    { method: "GET", run },
    { method: "HEAD", run },
  ];
}
