import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import type { Tokens } from "../../../plugins/token-store/index.ts";
import { gate } from "../../support/sample-channel.ts";
import {
  ask,
  bearer,
  refusal,
  stand,
  token,
  until,
  type Stand,
} from "../../support/pico-server-harness.ts";

type Verify = Tokens["verify"];

/** Counts who was asked for the token, and lets nobody in before `opened`. */
async function counting(options: Parameters<typeof stand>[0] = {}, opened = Promise.resolve()) {
  let asked = 0;
  const verify =
    (ask: Verify): Verify =>
    async (...of) => {
      const version = await ask(...of);
      asked += 1;
      await opened;
      return version;
    };
  return Object.assign(await stand({ ...options, verify }), { asked: () => asked });
}
type Counting = Awaited<ReturnType<typeof counting>>;

const replaceToken = async ({ services }: Stand): Promise<void> => {
  const { version } = services.tokens.info("pico");
  await services.tokenSecrets.replace("pico", { value: `${token}-new`, expect: version });
};

describe("while the body of a posted message arrives", () => {
  /** Was let in with the token; the last byte of the message is on its way. */
  async function posting(door: Counting, query = "") {
    const body = JSON.stringify({ session_id: "s", content: "hello" });
    const socket = connect(door.port, "127.0.0.1");
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
    await until(() => door.asked() === 1);
    await ask(door.port, "/pico"); // and a while later
    return {
      async finish() {
        socket.write(body.slice(-1));
        await until(() => socket.closed || socket.readableEnded);
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
    "a token that is replaced takes nothing any more (%s)",
    async (query) => {
      const taken: string[] = [];
      await using door = await counting({ app: ({ content }) => void taken.push(content) });
      const { finish } = await posting(door, query);
      await replaceToken(door);
      expect(await finish()).toMatchObject(refusal(401, "token_mismatch"));
      expect([taken, door.services.picoServer.status().connections]).toEqual([[], 0]);
    },
  );

  test("a channel that is switched off takes nothing any more", async () => {
    const taken: string[] = [];
    await using door = await counting({ app: ({ content }) => void taken.push(content) });
    const { finish } = await posting(door);
    await door.configure({ enabled: false });
    expect(await finish()).toMatchObject(refusal(404, "not_found"));
    expect(taken).toEqual([]);
  });
});

test("event streams that are let in at one moment take no more slots than there are", async () => {
  const { opened, open } = gate();
  await using door = await counting({ config: { max_connections: 1 } }, opened);
  const knocks = [1, 2, 3].map(() => door.knock("/pico/events?session_id=s", { lines: [bearer] }));
  await until(() => door.asked() === 3);
  open();
  expect((await Promise.all(knocks)).map(({ status }) => status).sort()).toEqual([200, 503, 503]);
});
