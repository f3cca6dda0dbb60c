/** Checks from inside whether a client can send the header of the proxy sign-in. @module */
import type { IncomingMessage } from "node:http";
import type { Release } from "../../../../kernel/index.ts";
import type { Http } from "../../../http/index.ts";
import type { ProxyHeaderView } from "../service.ts";

/** Paths of the dashboard, channel and protocols: a proxy may treat each in its own way. */
export const probedPaths = [
  "/",
  "/api/auth/status",
  "/pico/history",
  "/keys/history",
  "/v1/models",
  "/ai/chat",
  "/ag-ui",
] as const;
const probeMs = 10_000;
const parameter = "doorward_check";

interface ProxyProbe {
  readonly http: Pick<Http, "intercept" | "publicUrl">;
  readonly random: (bytes: number) => Uint8Array;
  readonly after: (ms: number, run: () => void) => Release;
  readonly header: string;
  /** The person that a request with the secret of the proxy names. */
  readonly nameOf: (request: IncomingMessage) => string | undefined;
  /** All values of the header. */
  readonly valuesOf: (request: IncomingMessage) => readonly string[];
}

/** Sends requests with the header through the public URL, as any client could. */
export async function probeProxyHeader(probe: ProxyProbe): Promise<ProxyHeaderView> {
  const { http, random, after, header } = probe;
  const name = `check-${Buffer.from(random(12)).toString("hex")}`;
  const arrived = new Set<string>();
  const signedIn = new Set<string>();
  const release = http.intercept((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://doorward.invalid");
    if (searchParams.get(parameter) !== name) return false;
    if (probe.valuesOf(request).some((value) => value.includes(name))) arrived.add(pathname);
    if (probe.nameOf(request) === name) signedIn.add(pathname);
    response.writeHead(204, { "Cache-Control": "no-store" }).end();
    return true;
  });
  const ending = new AbortController();
  const cancel = after(probeMs, () => ending.abort());
  const ask = async (path: string): Promise<boolean> => {
    const address = http.publicUrl(path);
    if (address === undefined) return false;
    const url = new URL(address);
    url.searchParams.set(parameter, name);
    try {
      const headers = { [header]: name };
      const response = await fetch(url, { headers, redirect: "manual", signal: ending.signal });
      await response.body?.cancel();
      return true;
    } catch {
      return false; // the result says that the address does not answer
    }
  };
  try {
    const answers = await Promise.all(probedPaths.map(ask));
    if (signedIn.size > 0) return { result: "signs-in", paths: [...signedIn] };
    if (arrived.size > 0) return { result: "arrived", paths: [...arrived] };
    return { result: answers.some(Boolean) ? "stripped" : "unreachable", paths: [] };
  } finally {
    cancel();
    release();
  }
}
