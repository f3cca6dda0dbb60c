// Tests the versions of a conversation on the chat page.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Message } from "../../../../../plugins/dashboard/pages/chat/state/thread.ts";
import {
  choose,
  choosePathTo,
  selectPath,
  type Choices,
} from "../../../../../plugins/dashboard/pages/chat/state/versions.ts";

const none: Choices = new Map();
const user = (requestId: string, replaces?: string, rest: object = {}): Message => ({
  ...{ kind: "user", key: `user ${requestId}`, requestId, at: 0, content: requestId, files: [] },
  ...(replaces !== undefined && { replaces }),
  ...rest,
});
const answer = (requestId: string): Message => ({
  ...{ kind: "text", key: `app ${requestId}`, requestId, at: 0, content: `re ${requestId}` },
  ...{ isFinal: true, calls: [], files: [] },
});
const contents = (messages: readonly Message[]): string =>
  messages.map(({ content }) => content).join(", ");

describe("selectPath", () => {
  const messages = [
    ...[user("a"), answer("a"), user("b"), answer("b"), user("c"), answer("c")],
    ...[user("b2", "b"), answer("b2"), user("d"), answer("d")],
  ];

  test("returns the same messages if none replaces another", () => {
    const plain = messages.slice(0, 6);
    const path = selectPath(plain, none);
    expect(path).toMatchObject({ messages: plain, isEarlier: false, isCut: false });
    expect(path.versions.size).toBe(0);
  });

  test("shows the newest version and what followed it", () => {
    const path = selectPath(messages, none);
    expect(contents(path.messages)).toBe("a, re a, b2, re b2, d, re d");
    expect(path.isEarlier).toBe(false);
    expect([...path.versions]).toEqual([["user b2", { at: 2, keys: ["user b", "user b2"] }]]);
  });

  test("shows an earlier version with everything that followed it", () => {
    const { versions } = selectPath(messages, none);
    const choices = choose(none, versions.get("user b2")!, "user b");
    const path = selectPath(messages, choices);
    expect(contents(path.messages)).toBe("a, re a, b, re b, c, re c");
    expect(path.isEarlier).toBe(true);
    expect(path.versions.get("user b")).toEqual({ at: 1, keys: ["user b", "user b2"] });
  });

  test("adds a third version, whichever of the two it replaces", () => {
    for (const replaced of ["b", "b2"]) {
      const path = selectPath([...messages, user("b3", replaced)], none);
      expect(contents(path.messages)).toBe("a, re a, b3");
      expect(path.versions.get("user b3")?.keys).toEqual(["user b", "user b2", "user b3"]);
    }
  });

  test("keeps a late answer with its own version", () => {
    const path = selectPath([user("a"), user("b", "a"), answer("a")], none);
    expect(contents(path.messages)).toBe("b");
  });

  test("replaces nothing with a rejected message", () => {
    const failed = user("b", "a", { delivery: "failed" });
    expect(contents(selectPath([user("a"), answer("a"), failed], none).messages)).toBe(
      "a, re a, b",
    );
  });

  test("continues a message before a version whose replaced message is not loaded", () => {
    const loaded = [user("b"), answer("b"), user("a2", "a"), user("b2", "b")];
    const path = selectPath(loaded, none);
    expect(contents(path.messages)).toBe("b2");
    expect(path).toMatchObject({ isCut: false, isEarlier: false });
  });

  test("begins with the new version if the replaced message is not loaded", () => {
    const path = selectPath(messages.slice(3), none);
    expect(contents(path.messages)).toBe("b2, re b2, d, re d");
    expect(path.isCut).toBe(true);
  });
});

describe("choosePathTo", () => {
  /** Each message replaces one of those before it, or none. */
  const threads = fc
    .array(fc.option(fc.nat({ max: 30 }), { nil: undefined, freq: 3 }), { maxLength: 30 })
    .map((numbers) =>
      numbers.flatMap((number, at) => {
        const replaced = number === undefined || number >= at ? undefined : `${number}`;
        return [user(`${at}`, replaced), answer(`${at}`)];
      }),
    );

  test("leads to every message, and the newest is shown by default", () => {
    fc.assert(
      fc.property(threads, (messages) => {
        const { messages: newest, isEarlier } = selectPath(messages, none);
        expect([newest.at(-1), isEarlier]).toEqual([messages.at(-1), false]);
        for (const message of messages) {
          const path = selectPath(messages, choosePathTo(messages, none, message.key));
          expect(path.messages).toContain(message);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("shows the end of the path while earlier messages are missing", () => {
    fc.assert(
      fc.property(threads, fc.nat({ max: 60 }), (messages, from) => {
        const whole = selectPath(messages, none).messages;
        const part = selectPath(messages.slice(from), none).messages;
        expect(whole.slice(whole.length - part.length)).toEqual(part);
      }),
    );
  });
});
