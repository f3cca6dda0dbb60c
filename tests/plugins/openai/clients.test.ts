// Runs the libraries of OpenAI for Node and Python, unmodified, against the OpenAI protocol.
import { afterAll, beforeAll, describe, test } from "vitest";
import { user, type Context } from "./client-case.ts";
import { drivers, startDriver, startOpenai, tokens, type Driver, type Service } from "./harness.ts";
import { replyCases } from "./reply-cases.ts";
import { requestCases } from "./request-cases.ts";

describe.each(Object.entries(drivers))("%s client", (_name, command) => {
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
});
