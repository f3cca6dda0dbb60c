// Checks what arrives at the launcher: scheme, host, client address, headers, cookies and parts.
import { gunzipSync } from "node:zlib";
import type { CheckView, ProbeFacts } from "../../../plugins/dashboard/index.ts";
import { createCheck } from "../survey.ts";
import { nameOf, wayCheck, type Reporter } from "./reporter.ts";
import { askProbe, jsonOf, type Answer, type Way } from "./way.ts";

/** Reserved addresses and names (RFC 5737, RFC 2606). */
const forged = { address: "192.0.2.77", host: "forged.invalid", user: "forged-user" } as const;

/** Headers that clients of Doorward send. */
const needed: Readonly<Record<string, string>> = {
  authorization: "Bearer probe",
  "last-event-id": "epoch:7",
  "if-match": '"probe"',
  "content-disposition": "attachment; filename*=UTF-8''a%20b.txt",
  "idempotency-key": "probe-1",
  "x-doorward-session": "probe",
  "x-doorward-sha256": "0".repeat(64),
};
/** Headers in which proxies name people. */
const identityHeaders = [
  "remote-user",
  "x-forwarded-user",
  "x-forwarded-email",
  "x-auth-request-user",
];

export interface Arrival {
  readonly facts: ProbeFacts;
  readonly answer: Answer;
  /** False if the connection ends at the launcher itself. */
  readonly isProxied: boolean;
}

/** @returns The request as it arrived; the response if the launcher did not prove it. */
export async function arrivalOf(
  way: Way,
  headers: Readonly<Record<string, string>> = {},
): Promise<Arrival | Answer> {
  const answer = await askProbe(way, { action: "facts", headers });
  if (!answer.isProven || answer.status !== 200) return answer;
  const facts = jsonOf<ProbeFacts>(answer) as ProbeFacts;
  if (!facts.direct || !facts.peer || !facts.headers) return answer; // another body
  const { address, port } = answer.local;
  const isProxied = facts.direct.port !== port || facts.direct.address !== address;
  return { facts, answer, isProxied };
}

/** The last item of a header with a list. */
const lastOf = (list = ""): string | undefined => list.split(",").at(-1)?.trim() || undefined;

/** Host of a URL, with the port unless it is the usual one. */
const bareHost = (host: string, isSecure: boolean): string =>
  host.toLowerCase().replace(isSecure ? /:443$/ : /:80$/, "");

/** The proxy names the scheme, and the launcher trusts it. */
export function schemeCheck({ url }: Way, { facts, isProxied }: Arrival, { fix, proxy }: Reporter) {
  const own = createCheck("public-scheme", "The launcher knows the scheme of the browser");
  const isSecure = url.protocol === "https:";
  const given = lastOf(facts.headers["x-forwarded-proto"]);
  if (facts.peer.secure === isSecure) return own.ok(`It is ${isSecure ? "https" : "http"}.`);
  if (isProxied && given !== undefined && isSecure === /^(https|wss)$/i.test(given))
    return own.failed(
      `The launcher ignores the headers of ${nameOf(proxy)}, because it does not trust ` +
        `${facts.direct.address}.`,
      `set "trusted_proxies": ["${facts.direct.address}"] in launcher-config.json`,
    );
  const found = given === undefined ? "does not send X-Forwarded-Proto" : `says "${given}"`;
  return own.failed(
    `The browser uses ${url.protocol.slice(0, -1)}, but ${nameOf(proxy)} ${found}.`,
    fix("scheme"),
  );
}

/** The proxy keeps the host with its port, and `allowed_hosts` contains it. */
export function hostCheck(
  way: Way,
  { facts, isProxied }: Arrival,
  forgery: ProbeFacts | undefined,
  { fix, proxy }: Reporter,
): CheckView {
  const own = createCheck("public-host", "The launcher knows the host of the browser");
  const isSecure = way.url.protocol === "https:";
  const got = bareHost(facts.peer.host, isSecure);
  const { host } = way.url;
  if (isProxied && forgery?.peer.host === forged.host)
    return own.failed(
      `${nameOf(proxy)} forwards the X-Forwarded-Host that a visitor sends.`,
      fix("host"),
    );
  if (got !== host) {
    const isWithoutPort = got === way.url.hostname;
    const what = isWithoutPort ? "loses the port of the host" : `replaces the host by "${got}"`;
    return own.failed(
      `${nameOf(proxy)} ${what}, so sign-ins and the chat are rejected.`,
      fix("host"),
    );
  }
  if (facts.isHostAllowed) return own.ok(`It is ${host}.`);
  return own.failed(
    `The launcher does not permit the host name ${way.url.hostname}.`,
    `set "allowed_hosts": ["${way.url.hostname}"] in launcher-config.json`,
  );
}

/** The proxy names the client address, and no visitor can. */
export function clientAddressCheck(
  { facts, isProxied }: Arrival,
  forgery: ProbeFacts | undefined,
  { fix, proxy }: Reporter,
): CheckView {
  const own = createCheck("public-client-address", "The launcher knows the address of clients");
  if (!isProxied) {
    if (forgery?.peer.address === forged.address)
      return own.warning(
        `No proxy is in between, but ${facts.direct.address} may name any client address.`,
        `remove ${facts.direct.address} from "trusted_proxies" in launcher-config.json`,
      );
    return own.ok("Clients connect to the launcher itself.");
  }
  if (lastOf(forgery?.headers["x-forwarded-for"]) === forged.address)
    return own.failed(
      `${nameOf(proxy)} forwards the X-Forwarded-For that a visitor sends, so a visitor ` +
        `can choose an address.`,
      fix("clientAddress"),
    );
  const named = lastOf(facts.headers["x-forwarded-for"]);
  if (named === undefined)
    return own.failed(
      `${nameOf(proxy)} does not send X-Forwarded-For, so all clients have one address.`,
      fix("clientAddress"),
    );
  if (facts.peer.address === facts.direct.address && named !== facts.direct.address)
    return own.failed(
      `The launcher ignores X-Forwarded-For, because it does not trust ${facts.direct.address}.`,
      `set "trusted_proxies": ["${facts.direct.address}"] in launcher-config.json`,
    );
  return own.ok(`This request came from ${facts.peer.address}.`);
}

/** Headers of clients arrive. */
export const headersCheck = wayCheck(
  "public-headers",
  "Headers of clients arrive",
  async (own, way, { fix, proxy }) => {
    const arrival = await arrivalOf(way, way.token === undefined ? needed : withoutToken(needed));
    if (!("facts" in arrival))
      return own.failed(
        `A request with headers of clients was answered with ${arrival.status}, ` +
          "not by the launcher.",
        fix("headers"),
      );
    const got = arrival.facts.headers;
    const isGone = (name: string): boolean =>
      name === "authorization" ? got[name] === undefined : got[name] !== needed[name];
    const gone = Object.keys(needed).filter(isGone);
    if (gone.length === 0) return own.ok("The launcher received all of them.");
    return own.failed(`${nameOf(proxy)} removes or changes: ${gone.join(", ")}.`, fix("headers"));
  },
);
const withoutToken = ({ authorization: _, ...others }: Readonly<Record<string, string>>) => others;

/**
 * @returns A request that claims another address, host and person. Undefined if it does not arrive:
 *   then no visitor can claim them.
 */
export async function forgeryOf(way: Way): Promise<ProbeFacts | undefined> {
  const arrival = await arrivalOf(way, {
    "x-forwarded-for": forged.address,
    "x-forwarded-host": forged.host,
    ...Object.fromEntries(identityHeaders.map((name) => [name, forged.user])),
  }).catch(() => undefined);
  return arrival && "facts" in arrival ? arrival.facts : undefined;
}

/** Names of people that a visitor claims do not arrive. */
export function identityCheck(
  { isProxied }: Arrival,
  forgery: ProbeFacts | undefined,
  { fix, proxy }: Reporter,
  { grant }: Pick<Way, "grant">,
): CheckView | undefined {
  if (!isProxied || !forgery) return undefined;
  const own = createCheck("public-identity", "Visitors cannot claim a name");
  // The header of `proxy_sign_in` has a check of its own.
  const ofSignIn = grant.proxySignIn?.header.toLowerCase();
  const passed = identityHeaders.filter(
    (name) => name !== ofSignIn && forgery.headers[name] === forged.user,
  );
  if (passed.length === 0) return own.ok("Headers with names of people do not arrive.");
  return own.warning(
    `${nameOf(proxy)} forwards ${passed.join(", ")} of visitors. Doorward does not read ` +
      `them, but ` +
      "a plugin or an application behind it may.",
    fix("identity"),
  );
}

/** Cookies come and go unchanged. */
export const cookieCheck = wayCheck(
  "public-cookies",
  "Cookies keep their flags",
  async (own, way, { fix, proxy }) => {
    if (way.isChannelOnly) return undefined;
    const first = await askProbe(way, { action: "cookie" });
    const { cookie = "" } = jsonOf<ProbeFacts & { cookie: string }>(first);
    const got = first.headers["set-cookie"]?.find((line) => line.includes("doorward_probe"));
    if (got === undefined)
      return own.failed(`${nameOf(proxy)} removes Set-Cookie, so sign-ins fail.`, fix("cookies"));
    const parts = (line: string): string => line.toLowerCase().split(/; */).toSorted().join("; ");
    if (parts(got) !== parts(cookie))
      return own.failed(`${nameOf(proxy)} changes "${cookie}" to "${got}".`, fix("cookies"));
    const pair = got.split(";", 1)[0]!;
    const second = jsonOf<ProbeFacts>(
      await askProbe(way, { action: "facts", headers: { cookie: pair } }),
    );
    if (second.headers?.["cookie"] !== pair)
      return own.failed(`${nameOf(proxy)} does not forward Cookie.`, fix("cookies"));
    return own.ok(`Browsers get ${cookie.split("; ").slice(1).join(", ")}.`);
  },
);

/** A part of a file arrives alone. */
export const rangeCheck = wayCheck(
  "public-range",
  "Parts of files can be requested",
  async (own, way, { fix, proxy }) => {
    const headers = { range: "bytes=100-199" };
    const { status, body, headers: got } = await askProbe(way, { action: "range", headers });
    if (status === 206 && body.length === 100 && got["content-range"] !== undefined)
      return own.ok("A request with Range returned 206 with 100 bytes.");
    return own.failed(
      `${nameOf(proxy)} removes Range or Content-Range (status ${status}, ${body.length} ` +
        `bytes), so ` +
        "videos cannot be skipped and downloads not resumed.",
      fix("range"),
    );
  },
);

/** Compressed text arrives as it was sent. */
export const compressionCheck = wayCheck(
  "public-compression",
  "Compressed pages arrive",
  async (own, way, { fix, proxy }) => {
    const headers = { "accept-encoding": "gzip" };
    const { body, headers: got } = await askProbe(way, { action: "text", headers });
    const isCompressed = got["content-encoding"] === "gzip";
    if (!isCompressed && got["x-doorward-compressed"] === "no")
      return own.ok(`${nameOf(proxy)} asks for uncompressed pages, which are larger.`);
    const text = isCompressed ? unzip(body) : body.toString();
    if (text?.startsWith("line 0 of the sample\n") && text.endsWith("line 2047 of the sample\n"))
      return own.ok(isCompressed ? "Text arrives compressed." : "Text arrives uncompressed.");
    return own.failed(`${nameOf(proxy)} changes the bytes of compressed text.`, fix("compression"));
  },
);

function unzip(body: Buffer): string | undefined {
  try {
    return gunzipSync(body).toString();
  } catch {
    return undefined; // these are not the bytes that the launcher has sent
  }
}
