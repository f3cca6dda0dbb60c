// The pico channel without WebSocket: the probe, posted messages, stops, event streams, history.
import { describe, test } from "vitest";
import { expectGolden } from "./golden.ts";
import { pixel, recordOf, reject } from "./pico.ts";
import { bearer, startService, tokens } from "./service.ts";

const auth = bearer(tokens.pico);
const page = "Origin: https://page.example";

describe("the pico channel over HTTP", () => {
  test("sends the responses of the golden file", async () => {
    await using service = await startService();
    const { run } = service;
    const record = recordOf(service);
    const post = (body: object | string, path = "/pico/messages", ...headers: string[]) =>
      record.ask(`POST ${path}`, { headers: [auth, ...headers], body });

    record.title("probe and preflight");
    await record.ask("GET /pico", { headers: [auth] });
    await record.ask("HEAD /pico", { headers: [auth] });
    await record.ask("GET /pico", { headers: [auth, page] });
    await record.ask("OPTIONS /pico/messages", {
      headers: [page, "Access-Control-Request-Method: POST"],
    });
    await record.ask("OPTIONS /pico/messages", { headers: ["Origin: https://evil.example"] });

    record.title("messages");
    await post({ session_id: "s", id: "1", content: "hello" });
    await post({ session_id: "s", id: "1", content: "hello" });
    await post({ session_id: "s", id: "1", content: "other" });
    await post({ session_id: "s", id: "2", content: "wait" }, "/pico/messages?wait=5", page);
    await post({ content: "skipped", media: [pixel, "https://page.example/a.gif"] });
    service.answer(async ({ reply }) => {
      await reply({ content: "thinking", kind: "thought" });
      await reply({
        content: "done",
        model: "model-1",
        attachments: [{ type: "image/gif", url: pixel }],
      });
    });
    await post({ session_id: "s", id: "3", content: "all" }, "/pico/messages?wait=5");

    record.title("a pending message, its stop and its repetition");
    const taken = service.take();
    const waiting = record.open("POST /pico/messages?wait=1", {
      headers: [auth],
      body: { session_id: "s", id: "4", content: "long" },
    });
    const message = await taken;
    await run((await waiting).end());
    const stop = (body: object) => post(body, "/pico/stop");
    await stop({ session_id: "s" });
    message.finish();
    await stop({ session_id: "s", request_id: "1" });
    await stop({ session_id: "s", request_id: "none" });
    await stop({});
    await post({ session_id: "s", id: "4", content: "long" }, "/pico/messages?wait=1");

    record.title("rejected messages");
    await post("{", "/pico/messages", "Content-Type: application/json");
    await post("x", "/pico/messages", "Content-Type: text/plain");
    await post([]);
    await post({ session_id: "s", content: "" });
    await post({ session_id: "s", content: "x", media: ["data:image/gif;base64,!"] });
    await post({ session_id: "s", content: "x".repeat(1_048_577) });
    await post({ session_id: "s", content: "x", replaces: "none" });
    await post({ session_id: tokens.pico, content: "x" });
    service.answer(reject("application_refused"));
    await post({ session_id: "s", content: "x" });
    service.answer(() => {
      throw new Error("broken");
    });
    await post({ session_id: "s", content: "x" });

    record.title("other rejected requests");
    await record.ask("POST /pico/messages", { body: { content: "x" } });
    await record.ask("POST /pico/messages", { headers: [bearer("wrong")], body: { content: "x" } });
    await record.ask(`GET /pico?token=${tokens.pico}`);
    await post({ content: "x" }, "/pico/messages", "Origin: https://evil.example");
    await record.ask("GET /pico/messages", { headers: [auth] });
    await record.ask("PUT /pico", { headers: [auth] });
    await record.ask("GET /pico/unknown", { headers: [auth] });
    await record.ask("GET /pico/events", { headers: [auth] });
    await record.ask("GET /pico/events?session_id=s", { headers: [auth, "Last-Event-ID: x"] });

    record.title("event streams");
    const plain = await record.open("GET /pico/events?session_id=e", {
      headers: [auth],
      name: "A",
    });
    await plain.head();
    const can = await record.open("GET /pico/events?session_id=e&pico_can=append,turns,stop", {
      headers: [auth, page],
      name: "B",
    });
    await can.head();
    const position = (await can.until("id: ")).slice("id: ".length);
    await post({ session_id: "e", id: "1", content: "hello" });
    const grows = service.take();
    const posted = record.open("POST /pico/messages", {
      headers: [auth],
      body: { session_id: "e", id: "2", content: "grow" },
      name: "C",
    });
    const stream = (await grows).stream();
    stream.write("Hel");
    await plain.until("Hel");
    stream.write("lo");
    await run(plain.until("Hello"));
    await run(stream.end());
    (await grows).finish();
    await (await posted).end();
    await plain.until('"final":true');
    await can.until('"request_id":"2","outcome"');
    await plain.cut();
    await can.cut();
    const resumed = await record.open("GET /pico/events?session_id=e", {
      headers: [auth, `Last-Event-ID: ${position}`],
    });
    await resumed.until('"final":true');
    await resumed.cut();

    record.title("history");
    const history = (query: string) =>
      record.ask(`GET /pico/history?session_id=${query}`, { headers: [auth] });
    await history("s");
    const body = (await history("s&limit=2")).at(-1)!;
    const { before } = JSON.parse(body) as { before: string };
    await history(`s&limit=2&before=${encodeURIComponent(before)}`);
    await history("unknown");
    await history("s&limit=0");
    await history("s&before=x");
    await expectGolden("pico-http.txt", record.text);
  });
});

describe("limits of the pico channel over HTTP", () => {
  test("have the responses of the golden file", async () => {
    const pico = { max_payload: 65_536, message_rate: 1, message_burst: 2, max_connections: 1 };
    await using service = await startService({ pico, inMemory: true });
    const record = recordOf(service);
    const post = (content: string, path = "/pico/messages") =>
      record.ask(`POST ${path}`, { headers: [auth], body: { session_id: "s", content } });
    await post("x".repeat(70_000));
    await post("one");
    await post("two");
    await post("three");
    const stream = await record.open("GET /pico/events?session_id=s", {
      headers: [auth],
      name: "A",
    });
    await stream.head();
    await record.ask("GET /pico/events?session_id=s", { headers: [auth] });
    await stream.cut();
    await record.ask("GET /pico/history?session_id=s", { headers: [auth] });
    await service.api("PUT", "/api/channels/pico", { enabled: false });
    await expectGolden("pico-http-limits.txt", record.text);
  });
});
