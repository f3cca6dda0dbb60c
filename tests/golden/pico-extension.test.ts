// The pico channel on WebSockets: the extension, and the reasons of the server to close.
import { describe, test } from "vitest";
import { toClosePayload, toFrame } from "./frames.ts";
import { expectGolden } from "./golden.ts";
import { allowed, open, pixel, recordOf, reject, send, shake } from "./pico.ts";
import type { Peer } from "./recorder.ts";
import { bearer, startService, tokens } from "./service.ts";

/** The payload of a frame. */
const payloadOf = (line: string): { readonly epoch: string; readonly conn_id: string } =>
  JSON.parse(line.slice("text ".length)).payload;

const can = "pico_can=append,stop,turns,unknown";

describe("clients of the extension", () => {
  test("exchange the frames of the golden file", async () => {
    await using service = await startService();
    const { channels, run } = service;
    const record = recordOf(service);
    const to = { channel: "pico", session: "s" };

    record.title("two devices with all features, one without");
    const a = await open(record, "A", `/pico?session_id=s&pico_ext=1&${can}`);
    const { epoch, conn_id } = payloadOf(await a.until("hello"));
    const b = await open(record, "B", `/pico?session_id=s&pico_ext=1&${can}`);
    await b.until("hello");
    const c = await open(record, "C", "/pico?session_id=s&pico_ext=1");
    await c.until("hello");
    const all = async (text: string): Promise<void> => {
      for (const peer of [a, b, c]) await peer.until(text);
    };
    a.send(send("1", "hello"));
    await a.until("answer.end");
    await b.until("answer.end");
    await c.until("message.create");
    a.send(send("1", "hello"));
    await a.until("message.ack");
    a.send(send("1", "other"));
    await a.until("id_reused");
    a.send({ type: "ack", payload: { seq: 2 } });

    record.title("a reply that grows, is replaced and ends");
    let taken = service.take();
    a.send(send("2", "grow", { media: [pixel], attachments: [{ type: "file", url: "data:x," }] }));
    let message = await taken;
    const stream = message.stream({ model: "model-1" });
    stream.write("Hel");
    await all("message.create");
    stream.write("lo");
    await run(all("lo"));
    stream.replace("Bye");
    await run(all("Bye"));
    stream.write(" now");
    const usage = { input: 7, output: 2, cached: 1 };
    await run(stream.end({ usage, finishReason: "length", suggestions: ["And then?"] }));
    message.finish();
    await a.until("answer.end");
    await b.until("answer.end");
    await c.until("now");

    record.title("stops");
    taken = service.take();
    a.send(send("3", "long"));
    message = await taken;
    b.send(send("4", "waits"));
    b.send({ type: "ping", id: "4 has arrived" });
    await b.until("pong");
    a.send({ type: "message.stop", id: "stop-1", payload: { request_id: "4" } });
    await a.until("stop.ack");
    await b.until('"4"');
    const reply = message.stream();
    reply.write("begun");
    await a.until("begun");
    a.send({ type: "message.stop", id: "stop-2", payload: {} });
    await a.until("stop.ack");
    message.finish();
    await a.until("answer.end");
    for (const id of ["1", "none"]) {
      a.send({ type: "message.stop", id: `stop-${id}`, payload: { request_id: id } });
      await a.until("stop.ack");
    }

    record.title("ends that fail");
    service.answer(reject("application_refused"));
    a.send(send("5", "rejected"));
    await a.until("answer.end");
    taken = service.take();
    a.send(send("6", "fails later"));
    message = await taken;
    message.accept();
    await a.until("message.ack");
    message.finish(new Error("broken"));
    await a.until("answer.end");

    record.title("versions of a message");
    a.send(send("7", "hello again", { replaces: "1" }));
    await a.until("answer.end");
    a.send(send("8", "hello", { replaces: "none" }));
    await a.until("error");
    const { id } = await channels.send(to, { content: "from the application" });
    await channels.remove(to, id);
    await all(`"message.delete","payload":{"message_id":"${id}"`);

    record.title("returns: with a position, without one, from another epoch");
    await a.cut();
    await b.cut();
    await c.cut();
    const path = "/pico?session_id=s&pico_ext=1";
    const d = await open(record, "D", `${path}&${can}&resume=${epoch}:5&conn=${conn_id}`);
    const hello = payloadOf(await d.until("hello"));
    d.send({ type: "ping", id: "end" });
    await d.until("pong");
    const other = await open(record, "E", `${path}&resume=0123456789abcdef:5`);
    await other.until('"type":"gap"');
    const fresh = await open(record, "F", path);
    await fresh.until("hello");
    fresh.send({ type: "ping", id: "end" });
    await fresh.until("pong");
    const e = await open(record, "G", `${path}&resume=${epoch}:9&conn=${hello.conn_id}`);
    await d.until("4409");
    await e.until("hello");

    record.title("more was missed than is kept");
    const away = { channel: "pico", session: "away" };
    for (const text of ["a", "b", "c"])
      await channels.send(away, { content: text.repeat(200_000) });
    const h = await open(record, "H", "/pico?session_id=away&pico_ext=1");
    await h.until("ccc");
    await expectGolden("pico-extension.txt", record.text);
  });
});

describe("closes", () => {
  test("equal their golden file", async () => {
    const pico = { max_connections: 2, max_payload: 65_536, message_rate: 1, message_burst: 3 };
    await using service = await startService({ pico, inMemory: true });
    const { run } = service;
    const record = recordOf(service);
    const close = async (
      name: string,
      title: string,
      act: (peer: Peer) => unknown,
      path = "/pico?session_id=s",
    ): Promise<void> => {
      record.title(title);
      const peer = await open(record, name, path);
      await act(peer);
      await peer.until("close ");
      // The server waits for this response before it closes the connection.
      peer.send(toFrame(toClosePayload(1000), 0x8), "close 1000");
      await run(peer.end());
    };

    await close("A", "a frame with a reserved bit", (peer) =>
      peer.send(Buffer.from([0xf1, 0x80, 0, 0, 0, 0]), "reserved bits"),
    );
    await close("B", "a frame without a mask", (peer) =>
      peer.send(Buffer.from([0x81, 0x01, 0x78]), "not masked"),
    );
    await close("C", "text that is not UTF-8", (peer) =>
      peer.send(toFrame(Buffer.from([0xff])), "text <0xff>"),
    );
    await close("E", "a message that is too large", (peer) =>
      peer.send(send("1", "x".repeat(70_000))),
    );
    await close("F", "twenty malformed messages", async (peer) => {
      for (let n = 0; n < 20; n += 1) {
        peer.send("x");
        await peer.until("invalid_message");
        await service.pass(1);
      }
    });
    await close("G", "more messages than the rate allows", async (peer) => {
      for (let n = 0; n < 8; n += 1) {
        peer.send(send(`g${n}`, "hello"));
        await peer.until(`"g${n}"`);
      }
    });
    await close("H", "silence", async (peer) => {
      await service.pass(30);
      await peer.until("ping");
      await service.pass(30);
    });

    record.title("too many connections");
    const peers = [await open(record, "I", "/pico"), await open(record, "I", "/pico")];
    await record.ask("GET /pico", { headers: allowed });
    for (const peer of peers) await peer.cut();
    await service.untilIdle();

    await close("J", "the owner disconnects the client", async () => {
      const { connections } = await service.api("GET", "/api/connections");
      for (const { id } of connections) await service.api("DELETE", `/api/connections/${id}`);
    });
    const token = "another-token-of-the-golden-files-0123456789-a";
    await close("K", "the token is rotated", () => {
      const { launcher: current } = tokens;
      return service.api("POST", "/api/token/rotate", { which: "pico", current, token });
    });
    record.title("the server stops");
    const last = await open(record, "L", "/pico", { headers: shake(bearer(token)) });
    const stopped = service.kernel.stop();
    await last.until("close ");
    await run(stopped);
    await last.end();
    await expectGolden("pico-closes.txt", record.text);
  });
});
