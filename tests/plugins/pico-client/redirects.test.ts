import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { followRedirect } from "../../../plugins/pico-client/redirects.ts";
import { startPicoClient, token } from "../../support/pico-client-harness.ts";

interface Server extends AsyncDisposable {
  readonly url: string;
  readonly asked: IncomingMessage[];
}

/** A server with a channel at one path; other paths respond with a status and a location. */
async function serve(
  channel: string,
  others: Readonly<Record<string, readonly [status: number, location?: string]>>,
): Promise<Server> {
  const asked: IncomingMessage[] = [];
  const http = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  http.on("upgrade", (request, socket, head) => {
    asked.push(request);
    const [path = "", query = ""] = request.url!.split("?");
    if (path === channel) return sockets.handleUpgrade(request, socket, head, () => undefined);
    const [status, location] = others[path] ?? [404];
    const where = location ? `Location: ${location.replace("{query}", `?${query}`)}\r\n` : "";
    return socket.end(
      `HTTP/1.1 ${status} Other\r\n${where}Connection: close\r\nContent-Length: 0\r\n\r\n`,
    );
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}/pico`,
    asked,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.clients) socket.terminate();
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    },
  };
}

const paths = ({ asked }: Server): string[] => asked.map(({ url }) => url!.split("?")[0]!);

describe("createDial", () => {
  test("finds the channel at /pico/ws behind a redirect that appends a slash", async () => {
    await using server = await serve("/pico/ws", { "/pico": [307, "/pico/{query}"] });
    await using client = await startPicoClient(server.url);
    await client.until(client.changes, ({ to }) => to === "open");
    expect(paths(server)).toEqual(["/pico", "/pico/", "/pico/ws"]);
    const sessions = server.asked.map(({ url }) => new URL(url!, server.url).searchParams);
    expect(new Set(sessions.map((query) => query.get("session_id")))).toEqual(
      new Set([client.link.session()]),
    );
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual(
      Array(3).fill(`Bearer ${token}`),
    );
    expect(client.lines.map(({ text }) => text)).toContain(
      `The server redirects: the channel is at ${server.url}/ws`,
    );
  });

  test("keeps the session if the redirect drops the query", async () => {
    await using server = await serve("/elsewhere", { "/pico": [302, "/elsewhere"] });
    await using client = await startPicoClient(server.url);
    await client.until(client.changes, ({ to }) => to === "open");
    expect(server.asked[1]!.url).toContain(`session_id=${client.link.session()}`);
  });

  test("never sends the token to another origin and logs its address", async () => {
    await using other = await serve("/pico", {});
    await using server = await serve("/none", { "/pico": [307, `${other.url}?token=theirs`] });
    await using client = await startPicoClient(server.url);
    const { reason } = await client.until(client.changes, ({ to }) => to === "waiting");
    expect(reason).toBe("http_307");
    expect(other.asked).toEqual([]);
    const warnings = client.lines.filter(({ text }) => text.includes(other.url));
    expect(warnings.map(({ text }) => text)).toEqual([
      `The server redirects elsewhere, which Doorward does not follow. Use ${other.url}`,
    ]);
  });

  test("stops a redirect loop after five redirects", async () => {
    await using server = await serve("/none", { "/pico": [302, "/b"], "/b": [302, "/pico"] });
    await using client = await startPicoClient(server.url);
    const { reason } = await client.until(client.changes, ({ to }) => to === "waiting");
    expect(reason).toBe("http_302");
    expect(paths(server).slice(0, 6)).toEqual(["/pico", "/b", "/pico", "/b", "/pico", "/b"]);
  });

  test("reports a wrong path without redirects", async () => {
    await using server = await serve("/none", {});
    await using client = await startPicoClient(server.url);
    const { reason } = await client.until(client.changes, ({ to }) => to === "blocked");
    expect([reason, paths(server)]).toEqual(["not_found", ["/pico"]]);
  });
});

describe("followRedirect", () => {
  const from = (url: string, count = 0) => ({ url: new URL(url), count, isSlash: false });
  const to = (location: string, url = "ws://a.example:8080/pico?session_id=s", count = 0) =>
    followRedirect(from(url, count), { statusCode: 307, headers: { location } });

  test("stays on the same scheme, host and port", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.webUrl({ withQueryParameters: true }), fc.string(), fc.webPath()),
        fc.constantFrom("ws://a.example:8080/pico", "wss://a.example/pico"),
        (location, url) => {
          const found = to(location, url);
          if (!found || !("next" in found)) return;
          expect(found.next.url.origin).toBe(new URL(url).origin);
        },
      ),
    );
  });

  test.each([
    "http://a.example/pico",
    "https://a.example:8080/pico",
    "//b.example:8080/pico",
    "wss://a.example:8080/pico",
    "http://user:secret@a.example:8080/pico",
    "http://a.example:8080@b.example/pico",
    "\\\\b.example\\pico",
  ])("does not follow %s", (location) => {
    const found = to(location);
    expect(found && "next" in found).toBe(false);
    expect(JSON.stringify(found)).not.toContain("secret");
  });

  test.each(["javascript:alert(1)", "file:///etc/passwd", "http://[", ""])(
    "rejects the location %j",
    (location) => {
      const found = to(location, "ws://a.example:8080/", 5);
      expect(found).toBeUndefined();
    },
  );
});
