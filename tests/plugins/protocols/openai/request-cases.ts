// Cases about the things that libraries send: images, earlier turns, wrong fields, sessions, and repetitions.
import { expect } from "vitest";
import { image, pixel, rejects, user, type Case } from "./client-case.ts";
import { echo } from "./harness.ts";

export const requestCases: readonly Case[] = [
  [
    "sends an image as bytes",
    echo,
    async ({ chat, last }) => {
      await chat({ messages: [user([{ type: "text", text: "see" }, image(pixel)])] });
      const [media] = last().media;
      expect(media).toMatchObject({ type: "image/png" });
      expect(Buffer.from(media!.bytes!).subarray(1, 4).toString()).toBe("PNG");
    },
  ],
  [
    "sends the address of an image, which is not fetched",
    echo,
    async ({ chat, last }) => {
      await chat({ messages: [user([image("https://127.0.0.1:1/a.png")])] });
      expect(last().media).toEqual([{ type: "image", url: "https://127.0.0.1:1/a.png" }]);
    },
  ],
  [
    "rejects an image of another form",
    echo,
    rejects(
      { messages: [user([image("http://e.org/a.png")])] },
      { status: 400, code: "invalid_image_url", param: "messages[0].content[0].image_url.url" },
    ),
  ],
  [
    "rejects 65 images",
    echo,
    rejects(
      { messages: [user(Array.from({ length: 65 }, () => image(pixel)))] },
      { status: 400, code: "unsupported_value" },
    ),
  ],
  [
    "joins parts of text with line breaks",
    echo,
    async ({ chat }) => {
      const parts = ["a", "b"].map((text) => ({ type: "text", text }));
      expect((await chat({ messages: [user(parts)] })).text).toBe("you said a\nb");
    },
  ],
  [
    "sends earlier turns in order, developer as system",
    echo,
    async ({ chat, last }) => {
      const messages = [
        { role: "developer", content: "be brief" },
        user("one"),
        { role: "assistant", content: "two" },
        user("three"),
      ];
      expect((await chat({ messages })).text).toBe("you said three");
      expect(last().previous).toEqual([
        { role: "system", content: "be brief" },
        { role: "user", content: "one" },
        { role: "assistant", content: "two" },
      ]);
    },
  ],
  [
    "counts the earlier turns that were cut off",
    echo,
    async ({ chat, last }) => {
      await chat({ messages: Array.from({ length: 300 }, (_, index) => user(`${index}`)) });
      expect(last().previous).toHaveLength(256);
      expect(last().previous![0]).toEqual({ role: "user", content: "43" });
      expect(last().metadata).toMatchObject({ previous_cut: 43 });
    },
  ],
  [
    "rejects a last message of the assistant",
    echo,
    rejects(
      { messages: [user("a"), { role: "assistant", content: "b" }] },
      { status: 400, code: "unsupported_value", param: "messages[1].role" },
    ),
  ],
  [
    "rejects the result of a call that no reply asked for",
    echo,
    rejects(
      { messages: [user("a"), { role: "tool", tool_call_id: "1", content: "b" }] },
      { status: 400, code: "unknown_tool_call" },
    ),
  ],
  [
    "rejects a last message of the assistant",
    echo,
    rejects(
      { messages: [user("a"), { role: "assistant", content: "b" }] },
      { status: 400, code: "unsupported_value", param: "messages[1].role" },
    ),
  ],
  [
    "gives a last system message to the turns before",
    echo,
    async ({ chat, last }) => {
      const system = { role: "system", content: "be brief" };
      expect((await chat({ messages: [user("hi"), system] })).text).toBe("you said hi");
      expect(last().previous).toEqual([system]);
    },
  ],
  [
    "leaves out parts of earlier turns, and names them",
    echo,
    async ({ chat, last }) => {
      const audio = { type: "input_audio", input_audio: { data: "", format: "wav" } };
      const earlier = { role: "user", content: [{ type: "text", text: "listen" }, audio] };
      const { headers, text } = await chat({ messages: [earlier, user("hi")] });
      expect(text).toBe("you said hi");
      expect(last().previous).toEqual([{ role: "user", content: "listen" }]);
      expect(headers!["x-doorward-ignored"]).toBe("messages[0].content[1]");
    },
  ],
  [
    "rejects a request without messages",
    echo,
    rejects(
      { messages: [] },
      { status: 400, code: "missing_required_parameter", param: "messages" },
    ),
  ],
  [
    "learns which fields are not applied",
    echo,
    async ({ chat, last }) => {
      const tools = [{ type: "function", function: { name: "search", parameters: {} } }];
      const { headers, text } = await chat({ tools, temperature: 0.5 });
      expect(text).toBe("you said hi");
      expect(headers!["x-doorward-ignored"]).toBe("temperature, tools");
      expect(last().metadata).toEqual({ openai: { model: "doorward", temperature: 0.5 } });
      expect(last().tools).toEqual([{ name: "search", parameters: {} }]);
    },
  ],
  [
    "rejects several choices",
    echo,
    rejects({ n: 2 }, { status: 400, code: "unsupported_value", param: "n" }),
  ],
  [
    "learns that a required tool call is not applied",
    echo,
    async ({ chat, last }) => {
      const { headers } = await chat({ tool_choice: "required" });
      expect(headers!["x-doorward-ignored"]).toBe("tool_choice");
      expect(last().toolChoice).toBe("required");
    },
  ],
  [
    "rejects a field of the wrong type",
    echo,
    rejects({ temperature: "hot" }, { status: 400, code: "invalid_type", param: "temperature" }),
  ],
  [
    "receives 401 for a wrong token",
    echo,
    async ({ call }) => {
      const { error } = await call("chat", { token: "wrong" });
      expect(error).toMatchObject({ status: 401, code: "invalid_api_key" });
    },
  ],
  [
    "names its session by header, by user, or receives a new one",
    echo,
    async ({ chat, last }) => {
      for (const header of ["X-Doorward-Session", "X-OpenWebUI-Chat-Id", "X-Conversation-Id"]) {
        const { headers } = await chat({}, { headers: { [header]: `by ${header}` } });
        expect(headers!["x-doorward-session"]).toBe(`by ${header}`);
        expect(last().session).toBe(`openai/by ${header}`);
      }
      await chat({ user: "ann" });
      expect(last()).toMatchObject({ session: "openai/ann", metadata: { user: "ann" } });
      const { headers } = await chat();
      expect(last().session).toBe(`openai/${headers!["x-doorward-session"]}`);
    },
  ],
  [
    "rejects a session name of 300 bytes",
    echo,
    rejects({ user: "a".repeat(300) }, { status: 400, param: "user" }),
  ],
  [
    "stops the reply when it closes the stream",
    echo,
    async ({ stream, service }) => {
      const stopped = new Promise<unknown>((resolve) => {
        service.state.handler = async (message) => {
          const text = message.stream();
          message.signal.addEventListener("abort", () => resolve(message.signal.reason));
          text.write("abc");
          await new Promise((done) => message.signal.addEventListener("abort", done));
        };
      });
      expect((await stream({}, { closeAfter: 3 })).text).toBe("abc");
      expect(await stopped).toMatchObject({ code: "stopped" });
    },
  ],
  [
    "receives the end of a reply that another client stops",
    async (message) => {
      const text = message.stream();
      text.write("abc");
      await new Promise((done) => message.signal.addEventListener("abort", done));
    },
    async ({ stream, service }) => {
      const session = { channel: "pico", session: "openai/to-stop" };
      const streamed = stream({ user: "to-stop" });
      await expect.poll(() => service.channels.stop(session)).toHaveLength(1);
      expect(await streamed).toMatchObject({ finish: "stop" });
    },
  ],
  [
    "sends a request once if the application fails",
    async () => {
      throw new Error("secret detail");
    },
    async ({ service, call }) => {
      const before = service.received.length;
      const { error } = await call("chat", { retries: 2 });
      expect(error).toMatchObject({ status: 500, code: "internal", type: "server_error" });
      expect(error!.message).not.toContain("secret");
      expect(service.received.length).toBe(before + 1);
    },
  ],
  [
    "receives an error that follows text",
    async (message) => {
      message.accept();
      await message.reply({ content: "half" });
      throw new Error("secret detail");
    },
    async ({ stream }) => {
      const result = await stream();
      expect(result.error).toMatchObject({ code: "internal" });
    },
  ],
  [
    "receives the same reply for a repeated key, asked once",
    echo,
    async ({ chat, service }) => {
      const before = service.received.length;
      const options = { headers: { "Idempotency-Key": `key-${before}` } };
      const first = await chat({ user: "repeat" }, { options, headers: options.headers });
      const second = await chat({ user: "repeat" }, { options, headers: options.headers });
      expect([first.text, second.text]).toEqual(["you said hi", "you said hi"]);
      expect(service.received.length).toBe(before + 1);
    },
  ],
];
