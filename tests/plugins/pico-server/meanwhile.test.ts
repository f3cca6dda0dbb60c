import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import type { Tokens } from "../../../plugins/token-store/index.ts";
import { gate } from "../../support/sample-channel.ts";
import {
  fetchJson,
  bearer,
  rejection,
  startPicoServer,
  token,
  waitFor,
  type PicoTestServer,
} from "../../support/pico-server-harness.ts";

type Verify = Tokens["verify"];

/** Counts token checks and lets none of them finish before `opened`. */
async function counting(
  options: Parameters<typeof startPicoServer>[0] = {},
  opened = Promise.resolve(),
) {
  let asked = 0;
  const verify =
    (ask: Verify): Verify =>
    async (...of) => {
      const version = await ask(...of);
      asked += 1;
      await opened;
      return version;
    };
  return Object.assign(await startPicoServer({ ...options, verify }), { asked: () => asked });
}
type Counting = Awaited<ReturnType<typeof counting>>;

const replaceToken = async ({ services }: PicoTestServer): Promise<void> => {
  const { version } = services.tokens.info("pico");
  await services.tokenSecrets.replace("pico", { value: `${token}-new`, expect: version });
};

describe("POST /pico/messages while the body arrives", () => {
  /** A request that has passed the token check and whose last body byte is missing. */
  async function posting(testServer: Counting, query = "") {
    const body = JSON.stringify({ session_id: "s", content: "hello" });
    const socket = connect(testServer.port, "127.0.0.1");
    let text = "";
    socket
      .setEncoding("utf8")
      .on("data", (chunk: string) => void (text += chunk))
      .on("error", () => undefined);
    const lines = [
      bearer,
      "Host: localhost",
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
    ];
    socket.write(
      [
        `POST /pico/messages${query} HTTP/1.1`,
        ...lines,
        "Connection: close",
        "",
        body.slice(0, -1),
      ].join("\r\n"),
    );
    await waitFor(() => testServer.asked() === 1);
    await fetchJson(testServer.port, "/pico"); // a later request
    return {
      async finish() {
        socket.write(body.slice(-1));
        await waitFor(() => socket.closed || socket.readableEnded);
        const status = Number(text.split(" ")[1]);
        return {
          status,
          headers: {},
          body: JSON.parse(text.slice(text.indexOf("\r\n\r\n"))) as object,
        };
      },
    };
  }

  test.each(["", "?wait=60"])(
    "rejects the message if the token was rotated (%s)",
    async (query) => {
      const taken: string[] = [];
      await using testServer = await counting({ app: ({ content }) => void taken.push(content) });
      const { finish } = await posting(testServer, query);
      await replaceToken(testServer);
      expect(await finish()).toMatchObject(rejection(401, "token_mismatch"));
      expect([taken, testServer.services.picoServer.status().connections]).toEqual([[], 0]);
    },
  );

  test("rejects the message if the channel was turned off", async () => {
    const taken: string[] = [];
    await using testServer = await counting({ app: ({ content }) => void taken.push(content) });
    const { finish } = await posting(testServer);
    await testServer.configure({ enabled: false });
    expect(await finish()).toMatchObject(rejection(404, "not_found"));
    expect(taken).toEqual([]);
  });
});

test("rejects concurrent event streams beyond max_connections", async () => {
  const { opened, open } = gate();
  await using testServer = await counting({ config: { max_connections: 1 } }, opened);
  const handshakes = [1, 2, 3].map(() =>
    testServer.sendRaw("/pico/events?session_id=s", { lines: [bearer] }),
  );
  await waitFor(() => testServer.asked() === 3);
  open();
  expect((await Promise.all(handshakes)).map(({ status }) => status).sort()).toEqual([
    200, 503, 503,
  ]);
});
