// The pico channel on WebSockets: the handshake, and clients without the extension.
import { describe, test } from "vitest";
import { toClosePayload, toFrame } from "./frames.ts";
import { expectGolden } from "./golden.ts";
import { allowed, open, pixel, recordOf, reject, send, shake } from "./pico.ts";
import { Recording, upgrade } from "./recorder.ts";
import { bearer, startService, tokens } from "./service.ts";

describe("handshake", () => {
  test("equals its golden file", async () => {
    await using service = await startService({ pico: { allow_token_query: true } });
    const record = recordOf(service);
    const accept = async (path: string, ...headers: string[]): Promise<void> => {
      const peer = await open(record, "", path, { headers: shake(...headers) });
      await peer.cut();
    };
    const refuse = (path: string, ...headers: string[]) => record.ask(`GET ${path}`, { headers });

    record.title("accepted");
    await accept("/pico", bearer(tokens.pico));
    await accept("/pico/ws/", `Sec-WebSocket-Protocol: token.${tokens.pico}`);
    await accept("/pico", `Sec-WebSocket-Protocol: pico.v1, token.${tokens.pico}`);
    const base64 = Buffer.from(tokens.pico).toString("base64url");
    await accept("/pico", `Sec-WebSocket-Protocol: token64.${base64}`);
    await accept(`/pico?token=${tokens.pico}`);
    await accept("/pico", bearer(tokens.pico), "Origin: https://page.example");

    record.title("rejected for the token");
    await refuse("/pico", ...shake());
    await refuse("/pico", ...shake("Authorization: Basic eA=="));
    await refuse("/pico", ...shake(bearer("wrong")));
    await refuse("/pico", ...shake("Sec-WebSocket-Protocol: token64.***"));
    await refuse("/pico?token=a&token=b", ...shake());

    record.title("rejected for other reasons");
    await refuse("/pico", ...shake(bearer(tokens.pico), "Origin: https://evil.example"));
    await refuse("/pico", bearer(tokens.pico), "Upgrade: websocket", "Connection: Upgrade");
    const [, , , key] = upgrade;
    await refuse("/pico", ...allowed.map((line) => (line === key ? "Sec-WebSocket-Key: x" : line)));
    await refuse("/pico/ws", bearer(tokens.pico));
    await refuse(`/pico?session_id=${"s".repeat(257)}`, ...allowed);
    await refuse("/pico?pico_ext=1&session_id=s&resume=broken", ...allowed);
    await refuse("/elsewhere", ...allowed);

    record.title("rejected after ten wrong tokens");
    for (let n = 1; n < 11; n += 1) {
      const peer = await new Recording({ port: service.port }, {}).open("GET /pico", {
        headers: shake(bearer(`wrong ${n}`)),
        from: "127.0.0.2",
      });
      await peer.end();
    }
    await record.ask("GET /pico", { headers: shake(bearer("wrong")), from: "127.0.0.2" });
    await expectGolden("pico-handshake.txt", record.text);
  });
});

describe("plain clients", () => {
  test("exchange the frames of the golden file", async () => {
    await using service = await startService();
    const { channels, run } = service;
    const record = recordOf(service);
    const to = { channel: "pico", session: "s" };

    record.title("two connections of one session");
    const a = await open(record, "A", "/pico?session_id=s");
    const b = await open(record, "B", "/pico?session_id=s");
    a.send(send("1", "hello"));
    await a.until("message.create");
    await b.until("message.create");
    a.send({ type: "ping", id: "p1" });
    await a.until("pong");
    a.send({ type: "typing.start" });
    a.send({ type: "typing.stop" });
    channels.typing(to, true);
    channels.typing(to, false);
    await a.until("typing.stop");

    record.title("a reply that grows");
    let taken = service.take();
    a.send(send("2", "grow"));
    let message = await taken;
    const reply = message.stream({ model: "model-1" });
    reply.write("Hel");
    await a.until("message.create");
    reply.write("lo");
    await run(a.until("message.update"));
    reply.replace("Good bye");
    await run(reply.end({ contextUsage: { used: 10, total: 100, history: 5 } }));
    message.finish();
    await a.until("Good bye");
    await b.until("Good bye");

    record.title("all fields of a message");
    const call = { id: "c1", name: "look", arguments: '{"at":"sky"}' };
    service.answer(async ({ reply }) => {
      await reply({ content: "thinking", kind: "thought" });
      await reply({ content: "", kind: "tool_calls", toolCalls: [{ ...call, result: "blue" }] });
      await reply({ content: "…", placeholder: true, final: false });
      await reply({
        content: "done",
        attachments: [{ type: "image/gif", url: pixel, filename: "dot.gif" }],
        model: "model-1",
        usage: { input: 1, output: 2 },
      });
    });
    a.send({
      type: "media.send",
      id: "3",
      session_id: "s",
      timestamp: 1,
      payload: { content: "", media: [pixel], attachments: [{ type: "image", url: pixel }] },
    });
    await a.until("dot.gif");
    const { id } = await channels.send(to, { content: "from the application" });
    await channels.remove(to, id);
    await a.until("message.delete");

    record.title("another session on the same connection, and a session without a client");
    a.send({ ...send("4", "hello"), session_id: "other" });
    await a.until('"other"');
    await channels.send({ channel: "pico", session: "away" }, { content: "kept" });
    const c = await open(record, "C", "/pico?session_id=away");
    await c.until("kept");

    record.title("rejected messages");
    for (const frame of [
      "{",
      "[]",
      { type: "unknown", id: "5" },
      send("6", ""),
      send("7", "x".repeat(1_048_577)),
      send("8", "", { media: ["data:image/gif;base64,!"] }),
      send("9", "", { media: ["https://page.example/a.gif"] }),
      send("10", "hello", { hops: 5 }),
      { ...send("11", "hello"), session_id: tokens.pico },
      send("12", "hello", { replaces: "none" }),
    ]) {
      a.send(frame);
      await a.until('"error"');
    }
    service.answer(reject("application_refused"));
    a.send(send("13", "hello"));
    await a.until('"error"');
    service.answer(reject("internal"));
    a.send(send("14", "hello"));
    await a.until('"error"');

    a.send(toFrame("{}", 0x2), "binary {}");
    await a.until('"error"');

    record.title("fragments, control frames and the end");
    const text = JSON.stringify(send("15", "fragments"));
    a.send(toFrame(text.slice(0, 9), 0x1, false), "text unfinished …");
    a.send(toFrame("1", 0x9), "ping 1");
    a.send(toFrame(text.slice(9), 0x0), "continuation …");
    await a.until("fragments");
    a.send(toFrame(toClosePayload(1000), 0x8), "close 1000");
    await a.end();
    await b.cut();
    await c.cut();
    await expectGolden("pico-plain.txt", record.text);
  });
});
