// The core of tus 1.0 with the extensions creation and termination:
// https://tus.io/protocols/resumable-upload. What a request does is in `parts.ts`.
import type { IncomingMessage } from "node:http";
import { codeOf, type Clock } from "../../kernel/index.ts";
import type { ResumableOptions, ResumableResponse, StoredFile } from "./contract.ts";
import { mediaErrors } from "./errors.ts";
import type { Parts } from "./parts.ts";
import { readUpload, type UploadSlots } from "./upload.ts";

const version = "1.0.0";
const bodyType = "application/offset+octet-stream";
const commonHeaders = { "Tus-Resumable": version, "Cache-Control": "no-store" } as const;

interface Context {
  readonly slots: UploadSlots;
  readonly parts: Parts;
  readonly clock: Clock;
  readonly find: (id: string) => Promise<StoredFile | undefined>;
}

/** An upload, or the file that it has become. */
interface Found {
  readonly size: number;
  readonly offset: number;
  readonly isStored: boolean;
}

/** The method of a request: some proxies pass only GET and POST. */
const methodOf = ({ method = "GET", headers }: IncomingMessage): string => {
  const wanted = headers["x-http-method-override"]?.toString().toUpperCase();
  return method === "POST" && (wanted === "PATCH" || wanted === "DELETE") ? wanted : method;
};

/** True for requests that only this protocol has, and for those that name it. */
export function isResumable(request: IncomingMessage): boolean {
  const method = methodOf(request);
  const isNamed = request.headers["tus-resumable"] !== undefined;
  return method === "PATCH" || method === "DELETE" || (isNamed && /^(POST|HEAD)$/.test(method));
}

/** Headers that say what the server can do. */
export const resumableFeatures = (maxBytes: number): Readonly<Record<string, string>> => ({
  "Tus-Resumable": version,
  "Tus-Version": version,
  "Tus-Extension": "creation,termination",
  "Tus-Max-Size": String(maxBytes),
});

const respond = (status: number, headers: Readonly<Record<string, string>> = {}) => ({
  status,
  headers: { ...commonHeaders, ...headers },
});

const refuse = (
  status: number,
  error: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): ResumableResponse => ({ ...respond(status, headers), body: { error, message } });

/** @throws upload_invalid */
function readNumber(request: IncomingMessage, name: string): number {
  const text = request.headers[name.toLowerCase()]?.toString() ?? "";
  if (!/^\d{1,15}$/.test(text)) throw mediaErrors.upload_invalid(name, "a number of bytes");
  return Number(text);
}

/** `filename d29ybGQ=,filetype dGV4dC9wbGFpbg==`. @throws upload_invalid */
function readMetadata(header: string | undefined): ReadonlyMap<string, string> {
  const pairs = header === undefined || header === "" ? [] : header.split(",", 32);
  const values = new Map<string, string>();
  for (const pair of pairs) {
    const [key = "", value = "", ...rest] = pair.trim().split(" ");
    if (key === "" || rest.length > 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(value))
      throw mediaErrors.upload_invalid("Upload-Metadata", "keys with values in base64");
    values.set(key, Buffer.from(value, "base64").toString("utf8"));
  }
  return values;
}

/** Clients name these two in several ways. */
function readDetails({ headers }: IncomingMessage) {
  const values = readMetadata(headers["upload-metadata"]?.toString());
  const filename = values.get("filename") ?? values.get("name");
  const contentType = values.get("filetype") ?? values.get("type");
  const sha256 = (values.get("sha256") ?? headers["x-doorward-sha256"])?.toString().toLowerCase();
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/.test(sha256))
    throw mediaErrors.upload_invalid("X-Doorward-SHA256", "64 hexadecimal digits");
  return {
    ...(filename !== undefined && { filename }),
    ...(contentType !== undefined && { contentType }),
    ...(sha256 !== undefined && { sha256 }),
  };
}

async function create(
  request: IncomingMessage,
  options: ResumableOptions,
  context: Context,
): Promise<ResumableResponse> {
  if (typeof options.target === "string") throw mediaErrors.unknown_media();
  const size = readNumber(request, "Upload-Length");
  const { sender, isCurrent } = options;
  const details = { ...readDetails(request), size, sender };
  const upload = await context.parts.begin(options.target, details);
  if (size === 0) {
    const nothing = { offset: 0, read: async function* () {}, isCurrent };
    await context.parts.append(upload, nothing);
  }
  return respond(201, { Location: options.url(upload.id), "X-Doorward-Media": upload.id });
}

/** @throws unknown_media, also for an upload of others */
async function find(
  { target, sender, mayUse = () => true }: ResumableOptions,
  { parts, find: findFile }: Context,
): Promise<Found & { readonly id: string }> {
  if (typeof target !== "string") throw mediaErrors.unknown_media();
  const part = await parts.find(target);
  const file = part ? undefined : await findFile(target);
  const found = part?.upload ?? file;
  if (!found || found.sender !== sender || !mayUse(found)) throw mediaErrors.unknown_media();
  const { id, size } = found;
  return { id, size, offset: part?.offset ?? size, isStored: file !== undefined };
}

async function append(
  request: IncomingMessage,
  options: ResumableOptions,
  context: Context,
): Promise<ResumableResponse> {
  if (request.headers["content-type"] !== bodyType)
    return refuse(415, "upload_type", `The header Content-Type must be ${bodyType}.`);
  const offset = readNumber(request, "Upload-Offset");
  const found = await find(options, context);
  if (found.isStored) {
    if (offset === found.size) return respond(204, { "Upload-Offset": String(offset) });
    throw mediaErrors.upload_conflict(found.size);
  }
  const part = await context.parts.find(found.id);
  if (!part) throw mediaErrors.unknown_media();
  const release = context.slots.take(options.key);
  try {
    const read = (stop: AbortSignal) => readUpload(request, context.clock, stop);
    const { isCurrent } = options;
    const stored = await context.parts.append(part.upload, { offset, read, isCurrent });
    return respond(204, { "Upload-Offset": String(stored) });
  } finally {
    release();
  }
}

async function serve(
  request: IncomingMessage,
  options: ResumableOptions,
  context: Context,
): Promise<ResumableResponse> {
  const method = methodOf(request);
  if (method === "POST") return create(request, options, context);
  if (method === "PATCH") return append(request, options, context);
  const found = await find(options, context);
  if (method === "HEAD") {
    const { offset, size } = found;
    return respond(200, { "Upload-Offset": String(offset), "Upload-Length": String(size) });
  }
  // A file may be in a message already.
  if (method !== "DELETE" || found.isStored) throw mediaErrors.unknown_media();
  await context.parts.discard(found.id);
  return respond(204);
}

/** Problems that have a status of the protocol. */
const statuses: Readonly<Record<string, number>> = {
  upload_invalid: 400,
  upload_conflict: 409,
  upload_locked: 423,
};

/** @throws errors that plain uploads have too, and unknown_media */
export async function serveResumable(
  request: IncomingMessage,
  options: ResumableOptions,
  context: Context,
): Promise<ResumableResponse> {
  const named = request.headers["tus-resumable"];
  if (named !== version) {
    const message = `The header Tus-Resumable must be ${version}.`;
    return refuse(412, "upload_version", message, { "Tus-Version": version });
  }
  try {
    return await serve(request, options, context);
  } catch (error) {
    const status = statuses[codeOf(error)];
    if (status === undefined) throw error;
    return refuse(status, codeOf(error), (error as Error).message);
  }
}
