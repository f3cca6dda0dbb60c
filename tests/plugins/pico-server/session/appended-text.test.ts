// Tests messages that grow over real sockets: clients with `append` receive the added text only.
import { describe, expect, test } from "vitest";
import { updateIntervalMs } from "../../../../plugins/channels/reply-streams.ts";
import {
  bearer,
  startPicoServer,
  waitFor,
  type Client,
  type PicoTestServer,
} from "../../../support/pico-server-harness.ts";

interface AppendedFrame {
  readonly type: string;
  readonly seq?: number;
  readonly payload: { readonly content?: string; readonly at?: number; readonly final?: boolean };
}

const to = { channel: "pico", session: "s1" };
const appends = "&pico_can=append";
const join = async (service: PicoTestServer, more: string): Promise<Client> => {
  const client = await service.connect(`/pico?session_id=s1${more}`);
  if (more.includes("pico_ext")) await client.next();
  return client;
};
const next = async (client: Client, count: number): Promise<AppendedFrame[]> => {
  const frames: AppendedFrame[] = [];
  while (frames.length < count) frames.push((await client.next()) as AppendedFrame);
  return frames;
};
const outline = (frames: readonly AppendedFrame[]): unknown[] =>
  frames.map(({ type, seq, payload: { at, content, final } }) => [
    type.replace("message.", ""),
    ...(at === undefined ? [] : [at]),
    content,
    ...(final ? ["final"] : []),
    ...(seq === undefined ? [] : [seq]),
  ]);

/** Sends an answer step by step; each step replaces the text or, as a function, extends it. */
async function answer(
  service: PicoTestServer,
  steps: readonly (string | ((text: string) => string))[],
  options: object = {},
): Promise<void> {
  const stream = service.services.channels.stream(to, options);
  let text = "";
  for (const step of steps) {
    text = typeof step === "string" ? step : step(text);
    stream.replace(text);
    await new Promise((resolve) => setImmediate(resolve));
    service.clock.increment(updateIntervalMs);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await stream.end();
}
const grow =
  (more: string) =>
  (text: string): string =>
    text + more;

describe("message.append", () => {
  test("carries the added text, its position and the last number", async () => {
    await using service = await startPicoServer();
    const client = await join(service, `&pico_ext=1${appends}`);
    await answer(service, ["Rain", grow(" in Ulm"), grow(".")]);
    expect(outline(await next(client, 4))).toEqual([
      ["create", "Rain", 1],
      ["append", 4, " in Ulm"],
      ["append", 11, "."],
      ["append", 12, "", "final", 2],
    ]);
  });

  test("gives way to the whole text when the text was replaced", async () => {
    await using service = await startPicoServer();
    const client = await join(service, `&pico_ext=1${appends}`);
    await answer(service, ["Rain", "Sun", grow("!")]);
    expect(outline(await next(client, 4))).toEqual([
      ["create", "Rain", 1],
      ["update", "Sun"],
      ["append", 3, "!"],
      ["append", 4, "", "final", 2],
    ]);
  });

  test("divides no surrogate pair", async () => {
    await using service = await startPicoServer();
    const client = await join(service, `&pico_ext=1${appends}`);
    await answer(service, ["a\u{D83D}", grow("\u{DE00}"), grow("\u{1F600}")]);
    expect(outline(await next(client, 4))).toEqual([
      ["create", "a\u{FFFD}", 1],
      ["update", "a\u{1F600}"],
      ["append", 3, "\u{1F600}"],
      ["append", 5, "", "final", 2],
    ]);
  });

  test("serves thoughts, and applications that name the added text", async () => {
    await using service = await startPicoServer();
    const client = await join(service, `&pico_ext=1${appends}`);
    await answer(service, ["hm", grow(", well")], { kind: "thought" });
    const { channels } = service.services;
    const { id } = await channels.send(to, { content: "a" });
    await channels.update(to, id, { content: "ab", added: "b" });
    await channels.update(to, id, { content: "abc", added: "c" });
    await channels.update(to, id, { content: "abcd" });
    await channels.update(to, id, { content: "abcde", added: "f" });
    await channels.update(to, id, { content: "abcdef", added: "f", model: "m-1", final: true });
    expect(outline(await next(client, 9))).toEqual([
      ["create", "hm", 1],
      ["append", 2, ", well"],
      ["append", 8, "", "final", 2],
      ["create", "a", "final", 3],
      ["update", "ab"],
      ["append", 2, "c"],
      ["update", "abcd"],
      ["update", "abcde"],
      ["update", "abcdef", "final", 4],
    ]);
  });

  test("follows the whole text after a resume", async () => {
    await using service = await startPicoServer();
    const first = await service.connect(`/pico?session_id=s1&pico_ext=1${appends}`);
    const { epoch } = (await first.next()).payload as { epoch: string };
    const stream = service.services.channels.stream(to);
    const show = async (more: string): Promise<void> => {
      stream.write(more);
      service.clock.increment(updateIntervalMs);
      await new Promise((resolve) => setImmediate(resolve));
    };
    await show("a");
    await show("b");
    const second = await join(service, `&pico_ext=1&resume=${epoch}:1${appends}`);
    await show("c");
    await show("d");
    await stream.end();
    expect(outline(await next(first, 5)).slice(1)).toEqual([
      ["append", 1, "b"],
      ["append", 2, "c"],
      ["append", 3, "d"],
      ["append", 4, "", "final", 2],
    ]);
    expect(outline(await next(second, 4))).toEqual([
      ["update", "ab"],
      ["update", "abc"],
      ["append", 3, "d"],
      ["append", 4, "", "final", 2],
    ]);
  });

  test("reaches event streams that ask for it", async () => {
    await using service = await startPicoServer();
    const response = await fetch(
      `http://127.0.0.1:${service.port}/pico/events?session_id=s1${appends}`,
      { headers: { Authorization: bearer.slice(15) } },
    );
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const read = async (until: string): Promise<void> => {
      while (!text.includes(until)) text += (await reader.read()).value ?? "";
    };
    await read("retry");
    await answer(service, ["a", grow("b")]);
    await read('"final":true');
    const frames = [...text.matchAll(/^data: (.*)$/gm)].map(
      ([, data]) => JSON.parse(data!) as AppendedFrame,
    );
    expect(outline(frames).map((frame) => (frame as unknown[]).slice(0, 4))).toEqual([
      ["create", "a"],
      ["append", 1, "b"],
      ["append", 2, "", "final"],
    ]);
    await reader.cancel();
  });
});

describe("clients without append", () => {
  test("receive whole texts, byte for byte", async () => {
    await using service = await startPicoServer();
    const received: string[][] = [[], [], []];
    for (const [index, more] of ["", "&pico_ext=1", `&pico_ext=1${appends}`].entries()) {
      const client = await join(service, more);
      client.ws.on("message", (data) => received[index]!.push((data as Buffer).toString()));
    }
    const at = service.clock.now();
    await answer(service, ["a", grow("b"), "x"]);
    const [plain, extended] = await waitFor(() =>
      received.every(({ length }) => length === 4) ? received : undefined,
    );
    const { message_id: id } = (JSON.parse(plain![0]!) as { payload: { message_id: string } })
      .payload;
    const frame = (type: string, content: string, steps: number, more = ""): string =>
      `{"type":"message.${type}","payload":{"message_id":"${id}","content":"${content}"${more}},` +
      `"session_id":"s1","timestamp":${at + steps * updateIntervalMs}}`;
    expect(plain).toEqual([
      frame("create", "a", 0),
      frame("update", "ab", 1),
      frame("update", "x", 2),
      frame("update", "x", 3, ',"final":true'),
    ]);
    const position = /,"epoch":"[0-9a-f]{16}","seq":\d+(?=\}$)/;
    expect(extended!.map((text) => text.replace(position, ""))).toEqual(plain);
  });
});

describe("an answer of 40 kB in 100 updates", () => {
  test.each([
    [`&pico_ext=1${appends}`, 40_000, 80_000],
    ["&pico_ext=1", 2_000_000, 2_100_000],
  ])("costs the expected bytes on the wire (%s)", async (more, least, most) => {
    await using service = await startPicoServer();
    const client = await join(service, more);
    const bytes = (): number => service.services.picoServer.metrics().bytes.out;
    const before = bytes();
    await answer(
      service,
      Array.from({ length: 100 }, () => grow("0123456789".repeat(40))),
    );
    await waitFor(() => client.frames.some(({ payload }) => payload?.["final"] === true));
    expect(bytes() - before).toBeGreaterThan(least);
    expect(bytes() - before).toBeLessThan(most);
  });
});

describe("message.append in the send queue", () => {
  test("gives way to the whole text", async () => {
    await using service = await startPicoServer();
    const client = await join(service, `&pico_ext=1${appends}`);
    const stream = service.services.channels.stream(to);
    const show = async (more: string): Promise<void> => {
      stream.write(more);
      service.clock.increment(updateIntervalMs);
      await new Promise((resolve) => setImmediate(resolve));
    };
    await show("a");
    await waitFor(() => client.frames.length === 1);
    client.ws.pause();
    await service.fill("s1", 256 * 1024);
    for (const more of ["b", "c", "d"]) await show(more);
    client.ws.resume();
    await waitFor(() => client.frames.some(({ payload }) => payload?.["content"] === "abcd"));
    await show("e");
    client.ws.pause();
    await service.fill("s1", 256 * 1024);
    await show("f");
    await stream.end();
    client.ws.resume();
    await waitFor(() =>
      client.frames.some(
        ({ payload }) => payload?.["final"] === true && payload["content"] === "abcdef",
      ),
    );
    const frames = client.frames as unknown as AppendedFrame[];
    const short = frames.filter(({ payload }) => (payload.content?.length ?? 0) < 100);
    expect(outline(short).map((frame) => (frame as unknown[]).slice(0, 3))).toEqual([
      ["create", "a", 1],
      ["update", "abcd"],
      ["append", 4, "e"],
      ["update", "abcdef", "final"],
    ]);
  });
});

describe("an answer in 40 pieces within a second", () => {
  test("appears in 22 steps where frames add text", async () => {
    await using service = await startPicoServer();
    const appending = await join(service, `&pico_ext=1${appends}`);
    const whole = [await join(service, ""), await join(service, "&pico_ext=1")];
    const stream = service.services.channels.stream(to);
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    let text = "";
    for (let piece = 0; piece < 40; piece += 1) {
      text += `${piece} `;
      stream.write(`${piece} `);
      await turn();
      service.clock.increment(25);
      await turn();
    }
    // The application pauses: every client has the whole text.
    for (let ms = 0; ms < 112; ms += 28) {
      service.clock.increment(28);
      await turn();
    }
    const textOf = ({ frames }: Client): string =>
      (frames as unknown as AppendedFrame[]).reduce(
        (before, { payload: { at, content = "" } }) => before.slice(0, at ?? 0) + content,
        "",
      );
    for (const client of [appending, ...whole]) await waitFor(() => textOf(client) === text);
    expect(appending.frames.length).toBeGreaterThanOrEqual(20);
    expect(appending.frames.length).toBeLessThanOrEqual(25);
    for (const { frames } of whole) {
      expect(frames.length).toBeGreaterThanOrEqual(8);
      expect(frames.length).toBeLessThanOrEqual(10);
    }
    await stream.end();
    for (const { frames } of [appending, ...whole])
      await waitFor(() => frames.at(-1)?.payload?.["final"] === true);
  });

  test("sends no whole text of a message after its end or removal", async () => {
    await using service = await startPicoServer();
    const client = await join(service, "");
    const { channels } = service.services;
    for (const end of ["final", "remove"]) {
      const { id } = await channels.send(to, { content: "a", final: false });
      await channels.update(to, id, { content: "ab", added: "b" });
      if (end === "remove") await channels.remove(to, id);
      else await channels.update(to, id, { content: "abc", final: true });
    }
    service.clock.increment(1_000);
    await channels.send(to, { content: "end" });
    const types = (await next(client, 5)).map(({ type }) => type.replace("message.", ""));
    expect(types).toEqual(["create", "update", "create", "delete", "create"]);
  });
});
