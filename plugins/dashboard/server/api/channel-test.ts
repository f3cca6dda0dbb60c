/** Tests the channel with real handshakes, one for each method of sending the token. @module */
import { request as plain, type IncomingMessage } from "node:http";
import { request as secure } from "node:https";
import type { Duplex } from "node:stream";
import { sectionsOf } from "./settings.ts";
import type { DashboardContext } from "../context.ts";
import type { TestMethod, TestResult } from "../../shared/views.ts";

const timeoutMs = 5_000;
/** A close frame with code 1000 and a mask of zeros: an orderly close. */
const closeFrame = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);
const upgradeHeaders = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};
const isPlain = (token: string): boolean => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(token);

interface TestRequest {
  readonly method: TestMethod;
  readonly query?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** @returns One request for each method of sending the token. */
function testRequests(token: string): TestRequest[] {
  // Node writes header text as Latin-1, so these characters become the UTF-8 bytes of the token.
  const bytes = Buffer.from(token, "utf8");
  const bearer = { authorization: `Bearer ${bytes.toString("latin1")}` };
  const item = isPlain(token) ? `token.${token}` : `token64.${bytes.toString("base64url")}`;
  return [
    { method: "header", headers: { ...upgradeHeaders, ...bearer } },
    { method: "subprotocol", headers: { ...upgradeHeaders, "sec-websocket-protocol": item } },
    { method: "query", headers: upgradeHeaders, query: `?token=${encodeURIComponent(token)}` },
    { method: "requests", headers: bearer },
  ];
}

/** Opens a handshake with each token method and reports the results. */
export const testChannel = (
  context: DashboardContext,
  token: string | undefined,
): Promise<TestResult[]> => context.observers.activity.duringTest(() => runTests(context, token));

async function runTests(
  context: DashboardContext,
  token: string | undefined,
): Promise<TestResult[]> {
  const [address] = context.http.addresses("gateway");
  const results: TestResult[] = [];
  const isQueryOff = await hasQueryOff(context);
  for (const testRequest of testRequests(token ?? "")) {
    if (isQueryOff && testRequest.method === "query") {
      results.push({ method: "query", ok: false, code: "token_query_disabled", ms: 0 });
      continue;
    }
    const startedAt = context.auth.clock.now();
    const url = address && new URL(context.site.url("/pico") + (testRequest.query ?? ""), address);
    const code = url === undefined ? "not_listening" : await openHandshake(url, testRequest);
    const { method } = testRequest;
    results.push({
      method,
      ok: code === (method === "requests" ? "200" : "101"),
      code,
      ms: context.auth.clock.now() - startedAt,
    });
  }
  return results;
}

/**
 * True if the channel is on and rejects tokens in URLs. The handshake would only add a warning to
 * the log.
 */
async function hasQueryOff({ services }: DashboardContext): Promise<boolean> {
  if (services.picoServer?.status().enabled !== true) return false;
  const sections = await sectionsOf(services).catch(() => []);
  const value = sections.find(({ section }) => section === "channels.pico")?.value;
  return (value as { allow_token_query?: boolean } | undefined)?.allow_token_query === false;
}

function openHandshake(url: URL, { headers }: TestRequest): Promise<string> {
  return new Promise((done) => {
    // The request goes to this process, so its certificate needs no check.
    const options = { headers, agent: false, timeout: timeoutMs, rejectUnauthorized: false };
    const request = url.protocol === "https:" ? secure(url, options) : plain(url, options);
    request.on("upgrade", (_response: IncomingMessage, socket: Duplex) => {
      socket.on("error", () => undefined);
      socket.end(closeFrame);
      socket.resume();
      done("101");
    });
    request.on("response", (response: IncomingMessage) => void errorCodeIn(response).then(done));
    request.on(
      "timeout",
      () =>
        void request.destroy(
          Object.assign(new Error("no response in time"), { code: "ETIMEDOUT" }),
        ),
    );
    request.on("error", (error: NodeJS.ErrnoException) => done(error.code ?? "failed"));
    request.end();
  });
}

/** @returns The error code in the body of a response, else its HTTP status. */
async function errorCodeIn(response: IncomingMessage): Promise<string> {
  let text = "";
  try {
    for await (const chunk of response) text = (text + String(chunk)).slice(0, 10_000);
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === "string" ? error : String(response.statusCode);
  } catch {
    return String(response.statusCode);
  }
}
