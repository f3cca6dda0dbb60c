import type { IncomingMessage } from "node:http";
import type { Http, Peer } from "../../http/index.ts";

export type TokenMethod = "header" | "subprotocol" | "query";

/** A request to the channel, read once. */
export interface HandshakeRequest {
  readonly q: IncomingMessage;
  readonly isUpgrade: boolean;
  readonly path: string;
  readonly params: URLSearchParams;
  readonly peer: Peer;
  readonly origin: string | undefined;
}

export function parseHandshakeRequest(
  http: Pick<Http, "peer">,
  request: IncomingMessage,
  isUpgrade: boolean,
): HandshakeRequest {
  const [path = "", ...search] = (request.url ?? "").split("?");
  const params = new URLSearchParams(search.join("?"));
  return {
    q: request,
    isUpgrade,
    path: path.replace(/(?<=.)\/$/, ""),
    params,
    peer: http.peer(request),
    origin: request.headers.origin,
  };
}

/** A token as it was offered. */
export interface OfferedToken {
  readonly method: TokenMethod;
  /** Decoded and trimmed, as it is compared: its length decides whether it could be guessed. */
  readonly value: string;
  /** The bytes were no text: equals nothing. */
  readonly undecodable: boolean;
  /** The subprotocol item, as a browser must get it back. */
  readonly echo?: string;
}
/** Not compared and not counted. */
interface UnusableToken {
  readonly method: TokenMethod;
  readonly refused: "token_malformed" | "token_query_disabled";
}

export interface OfferedCredentials {
  /** In the order of trying: header, subprotocol, query. */
  readonly tokens: readonly (OfferedToken | UnusableToken)[];
  /** Two tokens came by one method: all of them, as one value. */
  readonly duplicateTokens: string | undefined;
  /** Undefined when the list could not be read. */
  readonly protocols: readonly string[] | undefined;
}

const isTokenProtocol = (item: string): boolean => /^token(?:64)?\../.test(item);
/** `token.` alone, as an empty `?token=`, offers nothing. */
const hasTokenValue = (item: string): boolean => !/^token(?:64)?\.$/.test(item);
const protocolPattern = /^[\x21-\x7e\x80-\xff]+$/;
const tokenPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Node reads header bytes as latin1; tokens are compared as UTF-8. */
function decodeTokenBytes(bytes: Uint8Array): Pick<OfferedToken, "value" | "undecodable"> {
  try {
    return { value: utf8.decode(bytes).trim(), undecodable: false };
  } catch {
    return { value: Buffer.from(bytes).toString("latin1"), undecodable: true };
  }
}
const isAscii = /^[\x20-\x7e]*$/;
const decodeTokenHeader = (latin1: string): Pick<OfferedToken, "value" | "undecodable"> =>
  isAscii.test(latin1)
    ? { value: latin1.trim(), undecodable: false }
    : decodeTokenBytes(Buffer.from(latin1, "latin1"));

function readAuthorization(line: string): OfferedToken | UnusableToken {
  const [, raw] = /^bearer ([^ \t].*)$/i.exec(line) ?? [];
  if (raw === undefined) return { method: "header", refused: "token_malformed" };
  return { method: "header", ...decodeTokenHeader(raw) };
}

function readTokenProtocol(item: string): OfferedToken | UnusableToken {
  const [, kind, raw = ""] = /^(token|token64)\.(.*)$/.exec(item) ?? [];
  if (kind === "token") return { method: "subprotocol", ...decodeTokenHeader(raw), echo: item };
  const bytes = Buffer.from(raw, "base64url");
  if (bytes.toString("base64url") !== raw)
    return { method: "subprotocol", refused: "token_malformed" };
  return { method: "subprotocol", ...decodeTokenBytes(bytes), echo: item };
}

function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const lines: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const text = rawHeaders[at]!;
    if (text.length === name.length && text.toLowerCase() === name) lines.push(rawHeaders[at + 1]!);
  }
  return lines;
}

function readProtocols(header: string | undefined): { items: string[]; readable: boolean } {
  if (header === undefined) return { items: [], readable: true };
  const items = header.split(",").map((item) => item.trim());
  const readable = items.every(
    (item) => protocolPattern.test(item) && (item.startsWith("token.") || tokenPattern.test(item)),
  );
  return { items, readable: readable && new Set(items).size === items.length };
}

export function readCredentials(
  { q, params }: HandshakeRequest,
  allowQuery: boolean,
): OfferedCredentials {
  const headers = headerValues(q, "authorization");
  const { items, readable } = readProtocols(q.headers["sec-websocket-protocol"]);
  const tokenItems = items.filter(isTokenProtocol);
  const queries = params.getAll("token").filter((value) => value.trim() !== "");
  const doubled = headers.length > 1 || tokenItems.length > 1 || params.getAll("token").length > 1;
  const query = (raw: string): OfferedToken | UnusableToken =>
    allowQuery
      ? { method: "query", value: raw.trim(), undecodable: false }
      : { method: "query", refused: "token_query_disabled" };
  return {
    tokens: [
      ...headers.map(readAuthorization),
      ...tokenItems.filter(hasTokenValue).map(readTokenProtocol),
      ...queries.map(query),
    ],
    duplicateTokens: doubled ? JSON.stringify([headers, tokenItems, queries]) : undefined,
    protocols: readable ? items : undefined,
  };
}
