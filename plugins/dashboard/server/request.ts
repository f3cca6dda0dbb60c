/** Parses bodies and cookies of requests, and keeps what the checks found out. @module */
import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import type { Peer } from "../../http/index.ts";
import type { SignInSession } from "./auth/contract.ts";
import { refuse } from "./errors.ts";
import { protocolTokens } from "../shared/protocols.ts";

/** 4 KiB, for the forms of sign-in, setup and sign-out. */
export const maxFormBytes = 4_096;
/** 1 MiB, for all other bodies. */
export const maxBodyBytes = 1_048_576;

const text = z.string().max(3_000);
const trueValue = z.union([z.literal(true), z.literal("true")]);
const falseValue = z.union([z.literal(false), z.literal("false")]).optional();

export const loginBody = z.object({
  token: text.refine((value) => value.trim() !== ""),
  next: text.optional(),
});
/** `keep=true` overrides the other fields. */
export const setupBody = z.union([
  z.object({ code: text.optional(), keep: trueValue }),
  z.object({ code: text.optional(), keep: falseValue, token: text, confirm: text }),
]);
/** The hidden value of a form. */
export const csrfBody = z.object({ csrf: text.optional() }).optional();
export const rotateBody = z.object({
  which: z.enum(["launcher", "pico", ...protocolTokens]),
  current: text.optional(),
  token: text.optional(),
  grace: z.int().min(0).max(3_600).optional(),
});
const digits = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);
/** `since`: Unix milliseconds. */
export const decisionsQuery = z.object({
  since: digits.exactOptional(),
  limit: digits.pipe(z.int().min(1).max(1_000)).exactOptional(),
});
const graceSeconds = z
  .int()
  .min(0)
  .max(30 * 86_400)
  .exactOptional();
/** A new key; the plugin checks its fields. */
const keyFields = {
  name: z.string().max(200),
  scopes: z.array(z.enum(["read", "write", "answer", "stop"])).exactOptional(),
  sessions: z
    .union([z.enum(["own", "all"]), z.array(z.string().max(256)).max(100)])
    .exactOptional(),
  protocols: z.array(z.enum(["keys", "openai", "ai_sdk", "ag_ui"])).exactOptional(),
  expiresInS: z.number().exactOptional(),
};
export const createKeyBody = z.object({ ...keyFields, current: text.optional() });
export const rotateKeyBody = z.object({ grace: graceSeconds, current: text.optional() });
export const controlKeyBody = z.object(keyFields);
/** `name`: or the id. */
export const controlKeyNameBody = z.object({ name: z.string().max(200), grace: graceSeconds });
/** The launcher token, typed again as confirmation. */
export const currentBody = z.object({ current: text.optional() }).optional();
/** The launcher token is never shown: a user who may ask for it has just typed it. */
export const revealBody = z.object({
  which: z.enum(["pico", ...protocolTokens]),
  current: text.optional(),
});
/** `upgrade`: whether the requesting page could open a WebSocket to its own origin. */
export const doctorBody = z.object({ upgrade: z.boolean().optional() }).optional();
/** Of a reverse proxy, for the control socket. The settings check the values. */
export const controlAccessBody = z.object({
  publicUrl: z.string().max(500),
  trustedProxy: z.string().max(100),
  allowedHost: z.string().max(255),
});
/** `quick`: without the parts that need minutes. */
export const publicCheckBody = z.object({ quick: z.boolean().optional() }).optional();
/** For the control socket. Without `token`, a new one is generated. */
export const controlTokenBody = z.object({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_]*$/)
    .max(60),
  token: text.optional(),
  grace: z.int().min(0).max(3_600).optional(),
  /** A command uses the token and shows it to no one. */
  use: z.boolean().optional(),
});
export const controlStopBody = z.object({ session: z.string().min(1).max(256).optional() });
/** Without an address, every address would be unblocked. */
export const unblockBody = z.object({
  address: z.string().min(1).max(100),
  current: text.optional(),
});
export const controlUnblockBody = z.object({ address: z.string().max(100).optional() });

const pageLimit = z
  .string()
  .regex(/^\d{1,3}$/)
  .transform(Number)
  .pipe(z.int().min(1).max(200))
  .exactOptional();
const cursorText = z.string().min(1).max(100).exactOptional();
/** `session`: only that of this session of the pico channel. `flag`: only those with the flag. */
export const conversationListQuery = z.object({
  before: cursorText,
  limit: pageLimit,
  query: z.string().max(200).exactOptional(),
  session: z.string().min(1).max(256).exactOptional(),
  flag: z.enum(["pinned", "archived"]).exactOptional(),
});
export const searchQuery = z.object({ q: z.string().min(1).max(200), limit: pageLimit });
export const turnsQuery = z.object({ before: cursorText, after: cursorText, limit: pageLimit });
export const fileQuery = z.object({ session: z.string().min(1).max(256) });
export const exportQuery = z.object({ format: z.enum(["json", "markdown"]).default("json") });
/** `id`: only the request with this id. */
export const requestsQuery = z.object({
  session: z.string().min(1).max(256).exactOptional(),
  id: z.string().min(1).max(256).exactOptional(),
});
const answerFields = {
  option: z.string().max(64).exactOptional(),
  options: z.array(z.string().max(64)).max(8).exactOptional(),
  values: z.record(z.string().max(64), z.unknown()).exactOptional(),
  text: z.string().max(4_096).exactOptional(),
  dismiss: z.boolean().exactOptional(),
};
/** `state`: only `open` ones are known. `session`: only those of this session. */
export const questionsQuery = z.object({
  state: z.literal("open").exactOptional(),
  session: z.string().min(1).max(256).exactOptional(),
});
/** An answer to a question. The question checks the values. */
export const answerBody = z.object({
  channel: z.string().min(1).max(64).default("pico"),
  session: z.string().min(1).max(256),
  ...answerFields,
});
const formValue = z.string().max(4_096);
/** The form of a question: option, text, dismiss, and one `values.NAME` for each field. */
export const askBody = z.record(
  z.string().max(80),
  z.union([formValue, z.array(formValue).max(32)]).optional(),
);
export const maxAskBytes = 128 * 1024;
/** For the control socket, which finds the session of the question. */
export const controlAnswerBody = z.object({
  session: z.string().min(1).max(256).exactOptional(),
  ...answerFields,
});
/** A message of the owner to a session of another channel. */
export const messageBody = z.object({
  id: z.string().regex(/^[\w-]{1,64}$/),
  content: z
    .string()
    .max(100_000)
    .refine((value) => value.trim() !== ""),
});
export const maxMessageBytes = 512 * 1024;
/**
 * An empty title restores the first words of the conversation. `usedAt`: the latest use that the
 * person has seen; a conversation that was used later is not archived.
 */
export const conversationBody = z
  .object({
    title: z.string().max(200).exactOptional(),
    pinned: z.boolean().exactOptional(),
    archived: z.boolean().exactOptional(),
    usedAt: z.int().min(0).exactOptional(),
  })
  .refine(({ usedAt: _, ...changes }) => Object.keys(changes).length > 0, {
    error: "expected title, pinned or archived",
  });
export type ConversationBody = z.infer<typeof conversationBody>;
export const settingsBody = z.record(z.string(), z.unknown());

/**
 * Validates the body. The error message names the field and never quotes the body.
 *
 * @throws invalid_body if the body does not match the schema.
 */
export const parseBody = <T>(schema: z.ZodType<T>, { body }: FastifyRequest): T =>
  parse(schema, body, "field");

/**
 * Validates the query. A repeated parameter is a list, which no schema accepts.
 *
 * @throws invalid_body if a parameter does not match the schema.
 */
export const parseQuery = <T>(schema: z.ZodType<T>, { query }: FastifyRequest): T =>
  parseValues(schema, query);

/** Validates a body of the control socket, whose errors name no field. */
export function parseFields<T>(schema: z.ZodType<T>, { body }: { readonly body: unknown }): T {
  const { success, data } = schema.safeParse(body ?? {});
  if (success) return data;
  throw refuse("invalid_body");
}

/** Does the same for parameters that were read before. */
export const parseValues = <T>(schema: z.ZodType<T>, values: unknown): T =>
  parse(schema, values, "parameter");

function parse<T>(schema: z.ZodType<T>, values: unknown, kind: "field" | "parameter"): T {
  const { success, data, error } = schema.safeParse(values);
  if (success) return data;
  const name = error.issues[0]?.path.join(".") ?? "";
  if (kind === "field" && name === "") throw refuse("invalid_body");
  throw refuse("invalid_body", { message: `The ${kind} "${name}" is missing or invalid.` });
}

/**
 * Accepts forms, JSON and empty bodies.
 *
 * A repeated form field becomes a list, which no schema accepts: its meaning is ambiguous.
 */
export function registerBodyParsers(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string" },
    (_request, body, done) => {
      const form = new URLSearchParams(body as string);
      const fields = [...new Set(form.keys())].map((key) => {
        const values = form.getAll(key);
        return [key, values.length === 1 ? values[0] : values] as const;
      });
      done(null, Object.fromEntries(fields));
    },
  );
  // Some clients announce a body of unknown length and send none.
  app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) =>
    body === "" ? done(null, undefined) : done(refuse("unsupported_media_type")),
  );
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    const json = body as string;
    if (json === "") return done(null, undefined);
    return parse(request, json, (error, value) => {
      if (error || !hasDuplicateSecret(json)) done(error, value);
      else done(refuse("invalid_body", { message: "The body contains a field twice." }));
    });
  });
}

/** Fields that hold a secret. `JSON.parse` silently keeps the last of two equal names. */
const secretFields = new Set(["token", "confirm", "code", "current"]);

function hasDuplicateSecret(validJson: string): boolean {
  const strings = validJson.matchAll(/"((?:[^"\\]|\\.)*)"(\s*:)?/g);
  const names = [...strings].flatMap(([, name = "", colon]) =>
    colon ? [JSON.parse(`"${name}"`) as string] : [],
  );
  const secrets = names.filter((name) => secretFields.has(name));
  return new Set(secrets).size < secrets.length;
}

/**
 * Removes spaces and tabs, which HTTP allows around a value. Other white space belongs to the
 * value.
 */
const trimHeaderSpace = (text: string): string => text.replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, "");

/**
 * @returns Every value of a cookie name. A name can arrive twice: other ports of this host and
 *   other sites of the same domain can set it too.
 */
export function cookieValues(header: string | undefined, name: string): string[] {
  if (header === undefined) return [];
  return header.split(";").flatMap((pair) => {
    const separator = pair.indexOf("=");
    return separator < 0 || trimHeaderSpace(pair.slice(0, separator)) !== name
      ? []
      : [trimHeaderSpace(pair.slice(separator + 1))];
  });
}

/** A request whose path ends with an id. */
export type WithId = FastifyRequest<{ Params: { id: string } }>;

/** Results of the checks of a request. */
export interface RequestState {
  readonly peer: Peer;
  session: SignInSession | undefined;
  /** Version of the launcher token in `Authorization: Bearer`. */
  bearer: number | undefined;
  /**
   * The request has `Origin: null`: its body must prove that it comes from a page of this
   * dashboard.
   */
  nullForm: boolean;
}
declare module "fastify" {
  interface FastifyRequest {
    /** Set by the first check. Read it with `requestState`. */
    checked: RequestState | undefined;
  }
}
export const decorateRequests = (app: FastifyInstance): void =>
  void app.decorateRequest("checked", undefined);

export function requestState({ checked }: FastifyRequest): RequestState {
  if (!checked) throw new Error("the checks have not run for this request");
  return checked;
}
/** True for a form; scripts and programs send JSON. */
export const isForm = (request: FastifyRequest): boolean =>
  (request.headers["content-type"] ?? "")
    .toLowerCase()
    .startsWith("application/x-www-form-urlencoded");

/**
 * @returns The host of `host:port`, without brackets around an IPv6 address and without a final
 * dot.
 */
export function hostName(host: string): string {
  const bare = host.replace(/:\d*$/, "").replace(/^\[([^[\]]*)\]$/, "$1");
  return bare.toLowerCase().replace(/\.$/, "");
}
