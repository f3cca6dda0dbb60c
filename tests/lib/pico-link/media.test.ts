import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { connect, type Client, type ChatMessage } from "../../../lib/pico-link/client.ts";
import { fetchMedia } from "../../../lib/pico-link/http.ts";
import { decodeServer } from "../../../lib/pico-wire/index.ts";
import { createPeer } from "../../support/scripted-peer.ts";

type Attachment = ChatMessage["attachments"][number];

interface Store extends AsyncDisposable {
  readonly origin: string;
  readonly requests: IncomingMessage[];
}

async function store(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Store> {
  const requests: IncomingMessage[] = [];
  const http = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return {
    origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    },
  };
}

const clock = {
  now: () => Date.now(),
  setTimeout: (run: () => void, ms: number) => setTimeout(run, ms),
  clearTimeout: (id: unknown) => clearTimeout(id as NodeJS.Timeout),
};
const sourceOf = (origin: string) => ({ base: `${origin}/pico`, token: () => "secret", clock });
const at = (url: string): Attachment => ({ url });

/** A server that attaches this to its only reply. */
async function attached(attachment: object): Promise<ChatMessage & { readonly server: string }> {
  await using peer = await createPeer({
    greet: (socket) =>
      socket.send(
        JSON.stringify({
          type: "message.create",
          payload: { message_id: "1", content: "", final: true, attachments: [attachment] },
        }),
      ),
  });
  let client: Client | undefined;
  const message = await new Promise<ChatMessage>((onMessage) => {
    client = connect({ url: peer.url, token: "secret", WebSocket, headers: true, onMessage });
  });
  client!.close();
  return { ...message, server: new URL(peer.url).host };
}

describe("ChatMessage.attachments", () => {
  test("have paths that are resolved against the server", async () => {
    const url = "/pico/media/7";
    const { attachments, server } = await attached({ type: "image", url, filename: "cat.png" });
    expect(attachments).toEqual([
      { type: "image", url: `http://${server}/pico/media/7`, filename: "cat.png" },
    ]);
  });

  test.each([
    ["//elsewhere.example/a.png"],
    ["/\\elsewhere.example/a.png"],
    ["/\t/elsewhere.example/a.png"],
    ["\\\\elsewhere.example/a.png"],
    ["javascript:alert(1)"],
    ["http://elsewhere.example/a.png"],
    ["media/7"],
  ])("omit the unsafe address %j", (url) => {
    const frame = { type: "message.create", payload: { content: "", attachments: [{ url }] } };
    const read = decodeServer(JSON.stringify(frame), "https://server.example/pico");
    expect(read).toEqual({ type: "message.create", payload: { message_id: "", content: "" } });
  });
});

describe("Client.fetchMedia", () => {
  test("fetches an attachment of the server with the token", async () => {
    await using peer = await createPeer({ probe: () => 200 });
    const client = connect({
      url: peer.url,
      token: async () => "secret",
      WebSocket,
      headers: true,
      fetch: async (url, init) => {
        const { headers } = new Request(url as string, init);
        return new Response(headers.get("authorization"), { headers: { "content-type": "a/b" } });
      },
    });
    const url = `${new URL(peer.url).href.replace("ws:", "http:")}/media/7`;
    const blob = await client.fetchMedia(at(url));
    client.close();
    expect([blob.type, await blob.text()]).toEqual(["a/b", "Bearer secret"]);
  });
});

describe("fetchMedia", () => {
  test("sends the token only to the origin of the server", async () => {
    await using own = await store((_, response) => response.end("own"));
    await using other = await store((_, response) => response.end("other"));
    const source = sourceOf(own.origin);
    expect(await (await fetchMedia(at(`${own.origin}/pico/media/1`), source)).text()).toBe("own");
    expect(await (await fetchMedia(at(`${other.origin}/1`), source)).text()).toBe("other");
    expect(own.requests[0]!.headers.authorization).toBe("Bearer secret");
    expect(other.requests[0]!.headers.authorization).toBeUndefined();
  });

  test("follows no redirect of the server", async () => {
    await using other = await store((_, response) => response.end("other"));
    await using own = await store((_, response) =>
      response.writeHead(302, { Location: `${other.origin}/stolen` }).end(),
    );
    await expect(fetchMedia(at(`${own.origin}/1`), sourceOf(own.origin))).rejects.toMatchObject({
      name: "ChatError",
      code: "media_unavailable",
    });
    expect(other.requests).toEqual([]);
  });

  test("reads no more than the limit", async () => {
    let wrote = 0;
    await using own = await store((_, response) => {
      const more = (): void => {
        wrote += 65_536;
        if (!response.destroyed && wrote < 1e9) response.write(Buffer.alloc(65_536), more);
      };
      more();
    });
    await expect(
      fetchMedia(at(`${own.origin}/1`), sourceOf(own.origin), { maxBytes: 100_000 }),
    ).rejects.toMatchObject({ code: "media_too_large" });
    expect(wrote).toBeLessThan(1e9);
  });

  test("stops at the timeout", async () => {
    await using own = await store((_, response) => void response.write("never ends"));
    await expect(
      fetchMedia(at(`${own.origin}/1`), sourceOf(own.origin), { timeoutMs: 50 }),
    ).rejects.toMatchObject({ code: "media_unavailable" });
  });

  test("rejects another status than success", async () => {
    await using own = await store((_, response) => response.writeHead(404).end());
    await expect(fetchMedia(at(`${own.origin}/1`), sourceOf(own.origin))).rejects.toMatchObject({
      code: "media_unavailable",
      cause: { message: "HTTP 404" },
    });
  });

  test("reads data URLs without a request", async () => {
    const blob = await fetchMedia(at("data:image/png;base64,AAAA"), sourceOf("http://server"));
    expect([blob.type, blob.size]).toEqual(["image/png", 3]);
  });
});
