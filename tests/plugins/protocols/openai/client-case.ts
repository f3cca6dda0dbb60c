// The form of a case that both libraries run, and parts of cases.
import { expect } from "vitest";
import type { InboundMessage, Message } from "../../../../plugins/channels/index.ts";
import type { CallResult, Handler, Service } from "./harness.ts";

export const user = (content: unknown): object => ({ role: "user", content });
export const pixel =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
export const image = (url: string): object => ({ type: "image_url", image_url: { url } });

export interface Context {
  readonly service: Service;
  /** Sends a whole completion. */
  chat(body?: object, more?: object): Promise<CallResult>;
  /** Sends a streamed completion. */
  stream(body?: object, more?: object): Promise<CallResult>;
  call<T = CallResult>(op: string, call?: object): Promise<T>;
  /** The latest message that the application has received. */
  last(): InboundMessage;
}

export type Case = readonly [
  title: string,
  handler: Handler,
  run: (context: Context) => Promise<void>,
];

export const inParts =
  (...parts: readonly string[]): Handler =>
  async (message) => {
    const stream = message.stream();
    for (const part of parts) {
      stream.write(part);
      await stream.drained();
    }
    await stream.end({ usage: { input: 9, output: 2 } });
  };
export const thinking: Handler = async (message) => {
  const thought = message.stream({ kind: "thought" });
  thought.write("hmm");
  await thought.end();
  await message.reply({ content: "Hello" });
};
export const withText = (run: (message: Message) => Promise<unknown>): Handler => run;
export const both = async (
  { chat, stream }: Context,
  check: (result: CallResult) => void,
  body?: object,
): Promise<void> => {
  check(await chat(body));
  check(await stream(body));
};
export const rejects =
  (body: object, error: object): Case[2] =>
  async (context) => {
    const before = context.service.received.length;
    await both(context, (result) => expect(result.error).toMatchObject(error), body);
    expect(context.service.received.length).toBe(before);
  };
