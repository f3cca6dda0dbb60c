// Runs the libraries of OpenAI for Node and Python, unmodified, against the OpenAI protocol.
import { once } from "node:events";
import { createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { user, type Context } from "./client-case.ts";
import { drivers, startDriver, startOpenai, tokens, type Driver, type Service } from "./harness.ts";
import { replyCases } from "./reply-cases.ts";
import { requestCases } from "./request-cases.ts";

describe.each(Object.entries(drivers))("%s client", (name, command) => {
  let service: Service;
  let driver: Driver | undefined;
  beforeAll(async () => {
    service = await startOpenai();
    if (command) driver = startDriver(command);
  });
  afterAll(async () => {
    driver?.stop();
    await service[Symbol.asyncDispose]();
  });

  test.skipIf(!command).each([...replyCases, ...requestCases])("%s", async (_, handler, run) => {
    service.state.handler = handler;
    const call: Context["call"] = (op, more) =>
      driver!.call(op, {
        baseURL: service.base,
        token: tokens.openai,
        ...more,
        body: {
          model: "doorward",
          ...(!op.startsWith("response") && { messages: [user("hi")] }),
          ...(more as { body?: object })?.body,
        },
      });
    await run({
      service,
      call,
      chat: (body, more) => call("chat", { ...more, body }),
      stream: (body, more) => call("stream", { ...more, body }),
      last: () => service.received.at(-1)!,
    });
  });

  test.skipIf(!command || name === "Python").each([false, true])(
    "runs the tools that the reply calls, streamed: %s",
    async (stream) => {
      const call = {
        id: "c",
        name: "weather",
        arguments: '{"city":"Rome"}',
        for: "client",
      } as const;
      service.state.handler = async ({ toolResults: results, reply }) =>
        results
          ? reply({ content: `It is ${results[0]!.content}.` })
          : reply({ content: "", kind: "tool_calls", toolCalls: [call] });
      const body = { model: "doorward", messages: [user("Rome")], stream };
      const given = { baseURL: service.base, token: tokens.openai, body };
      const result = await driver!.call("tools", { ...given, results: { weather: "sunny" } });
      expect(result).toEqual({ text: "It is sunny.", calls: [["weather", { city: "Rome" }]] });
    },
  );

  test.skipIf(!command)("repeats a request that was rejected as busy, accepted once", async () => {
    await using starting = await startOpenai();
    let attempts = 0;
    const proxy = createServer((request, response) => {
      attempts += 1;
      if (attempts === 1) {
        request.resume();
        response.writeHead(503, { "Retry-After": "0", "Content-Type": "application/json" });
        return void response.end('{"error":{"message":"a","type":"b","param":null,"code":"c"}}');
      }
      const { method, headers, url } = request;
      const forward = sendRequest(new URL(url!, starting.base), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      });
      request.pipe(forward);
    }).listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const { port } = proxy.address() as AddressInfo;
    const result = await driver!.call("chat", {
      baseURL: `http://127.0.0.1:${port}/v1`,
      token: tokens.openai,
      retries: 2,
      body: { model: "doorward", messages: [user("hi")] },
    });
    proxy.closeAllConnections();
    proxy.close();
    expect([result.text, attempts, starting.received.length]).toEqual(["you said hi", 2, 1]);
  });
});
