// Parses a request to the channel and the tokens in it.
import type { IncomingMessage } from "node:http";
import type { Http, Peer } from "../../http/index.ts";
import { tokenParameters } from "../../http/kit.ts";

export type TokenMethod = "header" | "subprotocol" | "query";

/** A parsed request to the channel. */
export interface HandshakeRequest {
  readonly request: IncomingMessage;
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
    request,
    isUpgrade,
    // The channel with keys has the addresses of the channel, under another name.
    path: path.replace(/(?<=.)\/$/, "").replace(/^\/keys(?=\/|$)/, "/pico"),
    params,
    peer: http.peer(request),
    origin: request.headers.origin,
  };
}

/** A token in the form that is compared. */
export interface OfferedToken {
  readonly method: TokenMethod;
  /**
   * The decoded and trimmed token. Very short tokens can be guessed, so the limiter also counts
   * them.
   */
  readonly value: string;
  /** The bytes are not UTF-8, so the token matches no other token. */
  readonly undecodable: boolean;
  /** The subprotocol item, which the response must repeat for browsers. */
  readonly echo?: string;
}
/** A malformed or disallowed token. It is neither compared nor counted by the limiter. */
interface UnusableToken {
  readonly method: TokenMethod;
  readonly rejection: "token_malformed" | "token_query_disabled";
}

export interface OfferedCredentials {
  /** In the order of the attempts: header, subprotocol, query. */
  readonly tokens: readonly (OfferedToken | UnusableToken)[];
  /** All tokens as one value, if one method was used for two tokens. */
  readonly duplicateTokens: string | undefined;
  /** Undefined if the list is malformed. */
  readonly protocols: readonly string[] | undefined;
}

const isTokenProtocol = (item: string): boolean => /^token(?:64)?\../.test(item);
/** `token.` alone and an empty `?token=` contain no token. */
const hasTokenValue = (item: string): boolean => !/^token(?:64)?\.$/.test(item);
const protocolPattern = /^[\x21-\x7e\x80-\xff]+$/;
const tokenPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Node decodes header bytes as Latin-1, but tokens are compared as UTF-8. */
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
  if (raw === undefined) return { method: "header", rejection: "token_malformed" };
  return { method: "header", ...decodeTokenHeader(raw) };
}

function readTokenProtocol(item: string): OfferedToken | UnusableToken {
  const [, kind, raw = ""] = /^(token|token64)\.(.*)$/.exec(item) ?? [];
  if (kind === "token") return { method: "subprotocol", ...decodeTokenHeader(raw), echo: item };
  const bytes = Buffer.from(raw, "base64url");
  if (bytes.toString("base64url") !== raw)
    return { method: "subprotocol", rejection: "token_malformed" };
  return { method: "subprotocol", ...decodeTokenBytes(bytes), echo: item };
}

function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const lines: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const text = rawHeaders[index]!;
    if (text.length === name.length && text.toLowerCase() === name)
      lines.push(rawHeaders[index + 1]!);
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
  { request }: HandshakeRequest,
  allowQuery: boolean,
): OfferedCredentials {
  const headers = headerValues(request, "authorization");
  const { items, readable } = readProtocols(request.headers["sec-websocket-protocol"]);
  const tokenItems = items.filter(isTokenProtocol);
  const parameters = tokenParameters(request.url);
  const queries = parameters.filter((value) => value.trim() !== "");
  const hasDuplicates = headers.length > 1 || tokenItems.length > 1 || parameters.length > 1;
  const query = (raw: string): OfferedToken | UnusableToken =>
    allowQuery
      ? { method: "query", value: raw.trim(), undecodable: false }
      : { method: "query", rejection: "token_query_disabled" };
  return {
    tokens: [
      ...headers.map(readAuthorization),
      ...tokenItems.filter(hasTokenValue).map(readTokenProtocol),
      ...queries.map(query),
    ],
    duplicateTokens: hasDuplicates ? JSON.stringify([headers, tokenItems, queries]) : undefined,
    protocols: readable ? items : undefined,
  };
}
