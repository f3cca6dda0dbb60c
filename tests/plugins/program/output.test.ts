import { describe, expect, test } from "vitest";
import { startProgram, waitFor } from "../../support/program-harness.ts";

describe("invalid output of a program", () => {
  test("logs updates of an unknown message once", async () => {
    await using harness = await startProgram(`each((m) => {
      for (const content of ["a", "b", "c"]) {
        const payload = { message_id: "gone", content };
        console.log(JSON.stringify({ type: "message.update", payload }));
      }
      answer(m, m.payload.content);
    });`);
    await harness.say("hello");
    expect(
      harness.lines.filter(
        ({ text }) => text === "the program updates a message it has not created",
      ),
    ).toHaveLength(1);
  });

  test.each([
    ["replies to unknown messages", "message.create", { request_id: "gone", content: "a" }],
    ["replies that name no message", "message.create", { content: "a" }],
    ["deletions of unknown messages", "message.delete", { message_id: "gone" }],
  ])("limits the log lines about %s", async (_, type, payload) => {
    const line = JSON.stringify({ type, payload });
    await using harness = await startProgram(`each((m) => {
      for (let count = 0; count < 2000; count++) console.log(${JSON.stringify(line)});
      answer(m, m.payload.content);
    });`);
    await harness.say("hello");
    const { length } = harness.lines.filter(({ level }) => level === "warn");
    expect(length).toBeGreaterThan(10);
    expect(length).toBeLessThan(200);
  });

  test("logs invalid lines and explains the format once", async () => {
    await using harness = await startProgram(`
      console.log("Loading the model");
      console.log("[1, 2");
      console.log(JSON.stringify({ type: "hello" }));
      console.log(JSON.stringify({ type: "message.update", payload: { content: "no name" } }));
      each((m) => answer(m, "still here"));`);
    await harness.say("hello");
    const warnings = harness.lines.filter(
      ({ level, text }) => level === "warn" && text.includes("docs/programs.md"),
    );
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatchObject({
      example: expect.stringContaining('"message.create"') as string,
    });
    const invalid = harness.lines.filter(({ stream }) => stream === "stdout");
    expect(
      invalid.map(({ text, reason }) => [text.slice(0, 17), String(reason).slice(0, 22)]),
    ).toEqual([
      ["Loading the model", "not JSON"],
      ["[1, 2", "not JSON"],
      ['{"type":"hello"}', '"type": Invalid discri'],
      ['{"type":"message.', '"payload.message_id": '],
    ]);
  });

  test("removes a byte order mark and Windows line ends", async () => {
    await using harness = await startProgram(`
      process.stdout.write("\\ufeff");
      process.stderr.write("\\ufeffhello\\r\\n");
      each((m) => process.stdout.write(JSON.stringify({
        type: "message.create",
        payload: { request_id: m.id, content: "\\ufeff" + m.payload.content },
      }) + "\\r\\n"));`);
    for (const content of ["one", "two"]) {
      await harness.say(content);
      expect((await harness.seen.next("the reply")).message).toMatchObject({
        content: `\ufeff${content}`,
      });
    }
    await waitFor(() => harness.status().stderr.length > 0);
    expect(harness.lines.filter(({ stream }) => stream).map(({ text }) => text)).toEqual(["hello"]);
  });

  test("drops a line over 1 MiB and reads the next one", async () => {
    await using harness = await startProgram(`each((m) => {
      say("x".repeat(3_000_000)); answer(m, "fine");
    });`);
    await harness.say("hello");
    expect((await harness.seen.next("the reply")).message?.content).toBe("fine");
    expect(harness.lines.some(({ reason }) => reason === "over 1 MiB")).toBe(true);
  });

  test("logs bounded, sanitized stderr and keeps its last lines", async () => {
    const began = performance.now();
    await using harness = await startProgram(
      `
      for (let i = 0; i < 5_000; i++) console.error("\\u001b[31mline " + i + "\\u001b[0m\\u0007");
      console.error("y".repeat(100_000)); console.error("secret-value");
      each((m) => answer(m, "done"));`,
      { redact: (text) => text.replaceAll("secret-value", "[redacted]") },
    );
    await harness.say("hello");
    await waitFor(() => harness.status().stderr.at(-1)?.text === "[redacted]");
    const logged = harness.lines.filter(({ stream }) => stream === "stderr");
    expect(logged[0]?.text).toBe("line 0");
    const seconds = (performance.now() - began) / 1_000;
    expect(logged.length).toBeLessThan(200 + 10 * seconds);
    expect(Math.max(...logged.map(({ text }) => text.length))).toBeLessThan(2_100);
    expect(harness.status().stderr).toHaveLength(20);
  });
});

describe("backpressure", () => {
  test("delays senders until the program reads, without losing messages", async () => {
    await using harness = await startProgram(`
      const waits = setInterval(() => {}, 60_000);
      process.once("SIGUSR2", () => {
        clearInterval(waits);
        each((m) => answer(m, String(m.payload.content.length)));
      });
      console.error("up");`);
    await waitFor(() => harness.status().stderr.length > 0);
    const sent = await harness.fill("x".repeat(200_000));
    process.kill(harness.status().pid!, "SIGUSR2");
    expect(await Promise.all(sent)).toEqual(sent.map(() => "accepted"));
    expect(harness.status()).toMatchObject({ answered: sent.length, queued: 0, inWork: 0 });
  });

  test("pauses reading while a channel is slow", async () => {
    let open = 0;
    let maxOpen = 0;
    await using harness = await startProgram(
      `each((m) => {
      for (let i = 0; i < 20_000; i++) say({
        type: "message.create", session_id: "s" + i, channel: "sample",
        payload: { content: "x".repeat(200) + i },
      });
      answer(m, "all written");
    });`,
      {},
      {
        send: async (_, id) => {
          maxOpen = Math.max(maxOpen, (open += 1));
          await new Promise((done) => setTimeout(done, 5));
          open -= 1;
          return { id, status: "written" };
        },
      },
    );
    expect(await harness.say("go")).toBe("accepted");
    expect(maxOpen).toBeLessThan(1_000);
  });
});
