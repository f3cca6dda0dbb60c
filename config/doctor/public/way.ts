// Sends requests to the probe of the launcher over its public URL, and proves who answers.
import { createHmac, timingSafeEqual } from "node:crypto";
import { request as requestHttp, type ClientRequest, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { rootCertificates } from "node:tls";
import type { ProbeGrant } from "../../../plugins/dashboard/index.ts";

const probeHeader = "x-doorward-probe";
const requestTimeoutMs = 10_000;
const maxBodyBytes = 1_048_576;

/** One way from outside to the launcher. */
export interface Way {
  /** Without a final slash in its path. */
  readonly url: URL;
  /** Path of the public URL; empty for the root. */
  readonly path: string;
  readonly grant: ProbeGrant;
  /** The URL names the channel: the dashboard is not served there. */
  readonly isChannelOnly: boolean;
  /** Certificates of authorities to trust in addition, as PEM. */
  readonly ca: string | undefined;
  /** Sent as `Authorization`, if the proxy asks for a token itself. */
  readonly token: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly random: (bytes: number) => Uint8Array;
}

interface Asked {
  readonly action: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  /** Uses the path of the channel. */
  readonly isOfChannel?: boolean;
  /** Another path, for the action `facts`. */
  readonly path?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
  /** True if the launcher of the grant sent this response. */
  readonly isProven: boolean;
  /** Own end of the connection. */
  readonly local: { readonly address: string; readonly port: number };
}

/** @returns The headers of a request to the probe, and a function that checks its response. */
export function signProbe({ grant, token, random }: Way, action: string) {
  const key = Buffer.from(grant.key, "base64url");
  const challenge = Buffer.from(random(16)).toString("base64url");
  const prove = (...parts: readonly string[]): Buffer =>
    createHmac("sha256", key).update(parts.join("\n")).digest();
  const proof = prove("request", action, challenge).toString("base64url");
  const headers: Record<string, string> = {
    [probeHeader]: `${grant.id}.${challenge}.${proof}`,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const expected = prove("response", challenge);
  const isProven = (response: IncomingMessage["headers"]): boolean => {
    const got = Buffer.from(String(response[probeHeader] ?? ""), "base64url");
    return got.length === expected.length && timingSafeEqual(got, expected);
  };
  return { headers, isProven };
}

export function probeUrl(way: Way, asked: Asked): URL {
  const { action, parameters, isOfChannel = false, path } = asked;
  const { dashboard, channel } = way.grant.paths;
  const isChannel = isOfChannel || way.isChannelOnly;
  const url = new URL(`${way.path}${path ?? (isChannel ? channel : dashboard)}`, way.url);
  url.search = new URLSearchParams({ do: action, ...parameters }).toString();
  return url;
}

/**
 * Certificates are checked only if a token is sent. Otherwise, the check of the certificate says
 * what is wrong with it, and the proof shows who answers.
 */
export const tlsOf = ({ token, ca }: Way) => ({
  rejectUnauthorized: token !== undefined,
  ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
});

/** Starts a request. */
export function openProbe(way: Way, asked: Asked) {
  const url = probeUrl(way, asked);
  const signed = signProbe(way, asked.action);
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  const request = send(url, {
    method: asked.method ?? "GET",
    agent: false,
    ...tlsOf(way),
    headers: { ...signed.headers, ...asked.headers },
    ...(way.signal && { signal: way.signal }),
  });
  return { request, isProven: signed.isProven };
}

/** Resolves with the response. Rejects with the error of the connection. */
export async function askProbe(way: Way, asked: Asked): Promise<Answer> {
  const { request, isProven } = openProbe(way, asked);
  const timer = setTimeout(() => request.destroy(timeoutError()), requestTimeoutMs);
  try {
    const response = await responseOf(request);
    const { socket } = request;
    const local = { address: plainAddress(socket?.localAddress), port: socket?.localPort ?? 0 };
    const body = await readAll(response);
    const { statusCode: status = 0, headers } = response;
    return { status, headers, body, isProven: isProven(headers), local };
  } finally {
    clearTimeout(timer);
  }
}

export const timeoutError = (): Error =>
  Object.assign(new Error("no response within 10 s"), { code: "ETIMEDOUT" });
const plainAddress = (address = ""): string => address.replace(/^::ffff:/, "");

/** Sends a request without a body, and resolves with its response. */
export function responseOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once("response", resolve).on("error", reject);
    request.end();
  });
}

async function readAll(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes > maxBodyBytes) break;
  }
  return Buffer.concat(parts);
}

/** @returns The object in a JSON body; empty for everything else. */
export function jsonOf<T extends object>({ body }: Pick<Answer, "body">): Partial<T> {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
