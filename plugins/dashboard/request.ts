import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import type { Peer } from "../http/index.ts";
import type { SignInSession } from "./auth/sessions.ts";
import { HttpError } from "./errors.ts";
import type { DashboardEvents } from "./service.ts";

/** 4 KiB: the forms of the door itself. */
export const maxFormBytes = 4_096;
/** 1 MiB: everything else. */
export const maxBodyBytes = 1_048_576;

const text = z.string().max(3_000);
const trueValue = z.union([z.literal(true), z.literal("true")]);
const falseValue = z.union([z.literal(false), z.literal("false")]).optional();

export const loginBody = z.object({
  token: text.refine((value) => value.trim() !== ""),
  next: text.optional(),
});
/** `keep=true` wins over whatever stands in the other fields. */
export const setupBody = z.union([
  z.object({ code: text.optional(), keep: trueValue }),
  z.object({ code: text.optional(), keep: falseValue, token: text, confirm: text }),
]);
export const logoutBody = z.object({ csrf: text.optional() }).optional();
export const rotateBody = z.object({
  which: z.enum(["launcher", "pico"]),
  current: text.optional(),
  token: text.optional(),
  grace: z.int().min(0).max(3_600).optional(),
});
/** The launcher token, typed again. */
export const currentBody = z.object({ current: text.optional() }).optional();
/** The launcher's token is never shown: whoever could ask for it has just typed it. */
export const revealBody = z.object({ which: z.literal("pico"), current: text.optional() });
/** `upgrade`: whether the page that asks could open a WebSocket to its own origin. */
export const doctorBody = z.object({ upgrade: z.boolean().optional() }).optional();
/** On the owner's socket; without `token` a fresh one is made. */
export const controlTokenBody = z.object({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_]*$/)
    .max(60),
  token: text.optional(),
  grace: z.int().min(0).max(3_600).optional(),
});
export type ControlTokenBody = z.output<typeof controlTokenBody>;
export const controlUnblockBody = z.object({ address: z.string().max(100).optional() });
export const settingsBody = z.record(z.string(), z.unknown());

/** The body as its schema has it; else `invalid_body`, naming the field and nothing that was sent. */
export function parseBody<T>(schema: z.ZodType<T>, request: FastifyRequest): T {
  const parsed = schema.safeParse(request.body);
  if (parsed.success) return parsed.data;
  const field = parsed.error.issues[0]?.path.join(".");
  throw new HttpError(
    "invalid_body",
    field ? { message: `The field "${field}" is missing or not valid.` } : {},
  );
}

/** Forms, JSON and nothing. A field given twice means nothing certain, so it becomes a list, which no schema takes. */
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
  // Some clients announce a body of unknown length where there is none.
  app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) =>
    body === "" ? done(null, undefined) : done(new HttpError("unsupported_media_type")),
  );
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    const json = body as string;
    if (json === "") return done(null, undefined);
    return parse(request, json, (error, value) => {
      if (error || !hasDuplicateSecret(json)) done(error, value);
      else done(new HttpError("invalid_body", { message: "A field is given twice." }));
    });
  });
}

/** Fields that hold a secret. Of two with one name JSON takes the last without a word. */
const secretFields = new Set(["token", "confirm", "code", "current"]);

function hasDuplicateSecret(validJson: string): boolean {
  const isPlain = !validJson.includes("\\"); // else a name may be spelled in other ways
  const stands = (name: string): boolean =>
    validJson.indexOf(`"${name}"`) !== validJson.lastIndexOf(`"${name}"`);
  if (isPlain && ![...secretFields].some(stands)) return false;
  const strings = validJson.matchAll(/"((?:[^"\\]|\\.)*)"(\s*:)?/g);
  const names = [...strings].flatMap(([, name = "", colon]) =>
    colon ? [JSON.parse(`"${name}"`) as string] : [],
  );
  const secrets = names.filter((name) => secretFields.has(name));
  return new Set(secrets).size < secrets.length;
}

export type SignInMethod = DashboardEvents["dashboard:signed-in"]["via"];

/** What the checks found out about a request. */
export interface RequestState {
  readonly peer: Peer;
  session: SignInSession | undefined;
  /** Version of the launcher token that came as `Authorization: Bearer`. */
  bearer: number | undefined;
  /** `Origin: null`: the body must prove that the form is ours. */
  nullForm: boolean;
}
const requestStates = new WeakMap<FastifyRequest, RequestState>();

export const setRequestState = (request: FastifyRequest, requestState: RequestState): void =>
  void requestStates.set(request, requestState);
export function requestState(request: FastifyRequest): RequestState {
  const found = requestStates.get(request);
  if (!found) throw new Error("the checks have not run for this request");
  return found;
}
/** A form, as opposed to JSON from a script or a program. */
export const isForm = (request: FastifyRequest): boolean =>
  (request.headers["content-type"] ?? "")
    .toLowerCase()
    .startsWith("application/x-www-form-urlencoded");
