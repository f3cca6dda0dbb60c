// Tests the sign-in by nginx and Caddy, as docs/deploy documents it.
import { EventEmitter, once } from "node:events";
import { createServer, request as ask, type IncomingMessage } from "node:http";
import { connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { checkPublic } from "../../config/doctor/public/index.ts";
import type { Plugin } from "../../kernel/index.ts";
import { channels } from "../../plugins/channels/index.ts";
import type { CheckView } from "../../plugins/dashboard/index.ts";
import type { Http } from "../../plugins/http/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { memory } from "../../plugins/token-store/index.ts";
import { startDashboard, TOKEN, type DashboardServer } from "../support/dashboard-server.ts";
import { wsLines } from "../support/pico-server-harness.ts";
import { startOauth2Proxy } from "./oauth2-proxy.ts";
import { proxySecret, signInProxies, type SignInProxy } from "./sign-in-proxies.ts";

/** Starts a service that answers as a sign-in service does: a cookie names the person. */
async function startSignIn(header: string) {
  const paths: string[] = [];
  const server = createServer(({ url = "", headers }, response) => {
    paths.push(url);
    const person = /user=(\w+)/.exec(headers.cookie ?? "")?.[1];
    if (person === undefined) response.writeHead(401);
    else response.writeHead(200, { [header]: person, "Remote-Name": "A Name" });
    response.end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    paths,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const found = new EventEmitter();

async function startDoorward(publicUrl: () => string | undefined): Promise<DashboardServer> {
  const publish: Plugin<{ needs: { http: Http } }> = {
    name: "public-url",
    api: 1,
    needs: { http: true },
    start: ({ needs }) => needs.http.publish(publicUrl),
  };
  return startDashboard({
    form: memory({ launcher: TOKEN, pico: TOKEN, proxy_sign_in: proxySecret }),
    launcher: {
      trusted_proxies: ["127.0.0.1"],
      proxy_sign_in: { header: "Remote-User", name_header: "Remote-Name", owners: ["ann"] },
    },
    dashboard: {
      async doctor({ proxyHeader }) {
        const reason = JSON.stringify(await proxyHeader?.());
        return [{ id: "proxy-header", title: "", result: "ok", reason }];
      },
      async publicCheck(grant, { report, ...check }) {
        const checks = await checkPublic({ ...check, grant, say: report });
        found.emit("checks", checks);
        return checks;
      },
    },
    before: [publish, channels(), picoServer()],
  });
}

type Lines = readonly string[];

/** Sends exactly these header lines. */
async function send(url: URL, path: string, lines: Lines): Promise<IncomingMessage> {
  const sent = ask(new URL(path, url), { headers: ["Host", url.host, ...lines], agent: false });
  sent.end();
  const answer = await Promise.race([
    once(sent, "response").then(([response]) => response as IncomingMessage),
    once(sent, "upgrade").then(([response]) => response as IncomingMessage),
  ]);
  answer.resume();
  sent.destroy();
  return answer;
}
const statusOf = async (url: URL, path: string, lines: Lines): Promise<number> =>
  (await send(url, path, lines)).statusCode!;

async function statusOfHttp2(url: URL, headers: Record<string, string | string[]>) {
  const session = connect(url);
  const stream = session.request({ ":path": "/api/status", ...headers });
  const [answer] = (await once(stream, "response")) as [{ ":status": number }];
  session.destroy();
  return answer[":status"];
}

const forged = ["Remote-User", "ann"];
const secret = ["X-Doorward-Proxy", proxySecret];
/** Requests that a client may try, without a sign-in or as a person who is not an owner. */
const spoofs: Readonly<Record<string, Lines>> = {
  header: forged,
  "header and secret": [...forged, ...secret],
  "two headers": [...forged, ...forged, ...secret],
  "two secrets": [...forged, ...secret, ...secret],
  "another case": ["REMOTE-USER", "ann", ...secret],
  underscores: ["Remote_User", "ann", "X_Doorward_Proxy", proxySecret],
  "a list": ["Remote-User", "ann, eve", ...secret],
  "an empty header": ["Remote-User", "", ...secret],
  "another white space": ["Remote-User", "ann\u00c2\u00a0", ...secret],
  "a header that ends here": ["Connection", "Remote-User, X-Doorward-Proxy", ...forged, ...secret],
  "a forwarded address": [...forged, ...secret, "X-Forwarded-For", "127.0.0.1"],
};

async function triesSpoofs(url: URL): Promise<void> {
  for (const [name, lines] of Object.entries(spoofs))
    for (const cookie of [[], ["Cookie", "user=eve"]]) {
      const status = await statusOf(url, "/api/status", [...lines, ...cookie]);
      expect([302, 400, 401, 403], name).toContain(status);
      const upgrade = [...lines, ...cookie, ...wsLines.flatMap((line) => line.split(": "))];
      const origin = ["Origin", url.origin];
      const opened = await statusOf(url, "/pico/ws?session_id=a", [...upgrade, ...origin]);
      expect(opened, `${name}, upgrade`).not.toBe(101);
    }
}

/** Runs the check of the public URL, and returns the one of the header. */
async function checksPublicUrl(server: DashboardServer): Promise<CheckView | undefined> {
  const bearer = { authorization: `Bearer ${TOKEN}` };
  const checked = once(found, "checks") as Promise<[readonly CheckView[]]>;
  await server.post("/api/doctor/public", { quick: true }, bearer);
  const [checks] = await checked;
  expect(JSON.stringify(checks)).not.toContain(proxySecret);
  return checks.find(({ id }) => id === "public-proxy-header");
}

describe.each(["nginx", "Caddy"] as const)("sign-in by %s", (name) => {
  const { program, start } = signInProxies[name];

  test.skipIf(program === undefined)("lets Authelia decide, and no header", async () => {
    let proxy: SignInProxy | undefined;
    await using signIn = await startSignIn("Remote-User");
    await using server = await startDoorward(() => proxy?.url.href);
    const ports = { port: server.port, signIn: signIn.port };
    await using running = await start({ ...ports, service: "Authelia" });
    const { url } = (proxy = running);
    const of = (user: string) => statusOf(url, "/api/status", ["Cookie", `user=${user}`]);
    expect([await of("ann"), await of("eve")]).toEqual([200, 403]);
    const upgrade = wsLines.flatMap((line) => line.split(": "));
    const page = [...upgrade, "Origin", url.origin, "Cookie", "user=ann"];
    expect(await statusOf(url, "/pico/ws?session_id=a", page)).toBe(101);
    await triesSpoofs(url);
    const pseudo = { "remote-user": ["ann", "ann"], "x-doorward-proxy": proxySecret };
    if (name === "Caddy") {
      expect(await statusOfHttp2(url, { cookie: "user=ann" })).toBe(200);
      expect(await statusOfHttp2(url, { cookie: "user=eve", ...pseudo })).toBe(403);
    }
    const bearer = { authorization: `Bearer ${TOKEN}` };
    const doctor = (await (await server.post("/api/doctor", {}, bearer)).json()) as {
      checks: { reason: string }[];
    };
    expect(JSON.parse(doctor.checks[0]!.reason)).toEqual({ result: "stripped", paths: [] });
    expect(await checksPublicUrl(server)).toMatchObject({
      result: "ok",
      reason: expect.stringMatching(/arrived at none of [4-9] paths/),
    });
  });

  test.skipIf(program === undefined)("lets oauth2-proxy decide, and no header", async () => {
    await using signIn = await startOauth2Proxy();
    await using server = await startDoorward(() => undefined);
    const ports = { port: server.port, signIn: signIn.port };
    await using running = await start({ ...ports, service: "oauth2-proxy" });
    const { url } = running;
    const stranger = await send(url, "/chat?a=1", []);
    const { location } = stranger.headers;
    expect([stranger.statusCode, location]).toEqual([302, "/oauth2/sign_in?rd=/chat?a=1"]);
    const [ann, eve] = [await signIn.cookie(url, "ann"), await signIn.cookie(url, "eve")];
    expect(await statusOf(url, "/api/status", ["Cookie", ann])).toBe(200);
    expect(await statusOf(url, "/api/status", ["Cookie", eve])).toBe(403);
    for (const header of ["X-Auth-Request-User", "X-Forwarded-User", "Remote-User"]) {
      const lines = [header, "ann", ...secret];
      expect(await statusOf(url, "/api/status", [...lines, "Cookie", eve])).toBe(403);
      expect(await statusOf(url, "/api/status", lines)).toBe(302);
      // Addresses of clients reach Doorward without the sign-in, and without the header.
      expect(await statusOf(url, "/keys/history?session_id=a", lines)).toBe(401);
    }
  });

  test.skipIf(program === undefined)("finds a header that clients can send", async () => {
    let proxy: SignInProxy | undefined;
    await using signIn = await startSignIn("Remote-User");
    await using server = await startDoorward(() => proxy?.url.href);
    const ports = { port: server.port, signIn: signIn.port };
    const careless = (text: string): string =>
      name === "nginx"
        ? text
            .replace('proxy_set_header Remote-User "";', "")
            .replace(
              'proxy_set_header X-Doorward-Proxy "";',
              `proxy_set_header X-Doorward-Proxy "${proxySecret}";`,
            )
        : text
            .replace("request_header -Remote-User", "")
            .replace(
              "reverse_proxy @clients 127.0.0.1:18800",
              `reverse_proxy @clients 127.0.0.1:18800 {\nheader_up X-Doorward-Proxy ${proxySecret}\n}`,
            )
            .replace("SECRET", proxySecret);
    await using running = await start({ ...ports, service: "Authelia", change: careless });
    proxy = running;
    const bearer = { authorization: `Bearer ${TOKEN}` };
    const doctor = await server.post("/api/doctor", {}, bearer);
    expect(await doctor.text()).toContain("signs-in");
    expect(await checksPublicUrl(server)).toMatchObject({ result: "failed" });
  });
});
