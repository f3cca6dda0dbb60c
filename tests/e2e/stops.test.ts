// Stops messages in each state from each place: statuses, signals, text afterwards, next message.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Message } from "../../plugins/channels/index.ts";
import { hasBrowser, launchBrowser } from "../browser/browser.ts";
import { startProtocols, type ProtocolService } from "../support/protocol-service.ts";
import { stopPlaces } from "./stop-places.ts";

/** Contents of messages, by session. */
type Contents = Map<string, string[]>;

const add = (contents: Contents, { session, content }: Message): void =>
  void contents.set(session, [...(contents.get(session) ?? []), content]);

/** Runs until it is stopped, and ignores that its text is too late. */
async function answer(message: Message, aborted: Contents): Promise<void> {
  const { content, signal } = message;
  if (/^(?:next|short)/.test(content)) {
    await message.reply({ content: `you said ${content}` });
    return;
  }
  const stream = message.stream();
  if (content.startsWith("accepted")) {
    message.accept();
    stream.write("so far");
  }
  await new Promise<void>((done) =>
    signal.addEventListener("abort", () => {
      add(aborted, message);
      done();
    }),
  );
  stream.write("too late");
  await message.reply({ content: "too late" }).catch(() => undefined);
  await stream.end();
}

describe.each(stopPlaces)("$title", (kind) => {
  const received: Contents = new Map();
  const aborted: Contents = new Map();
  const queued: string[] = [];
  const asked: string[] = [];
  const ended: string[] = [];
  let service: ProtocolService;
  let browser: Browser | undefined;
  let folder: string;
  let next = 0;
  const isPage = kind.title === "chat page";

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "doorward-stops-"));
    if (isPage && hasBrowser) browser = await launchBrowser();
    service = await startProtocols();
    service.state.handler = (message) => {
      add(received, message);
      return answer(message, aborted);
    };
    service.kernel.on("channels:message-received", ({ session }) => void queued.push(session));
    service.kernel.on("channels:answer-ended", ({ session }) => void ended.push(session));
    service.kernel.on("channels:stop-asked", ({ session }) => void asked.push(session));
  });
  afterAll(async () => {
    await browser?.close();
    await service[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  const count = (sessions: readonly string[], session: string): number =>
    sessions.filter((each) => each === session).length;

  /** Opens a client in a new session. Afterwards, its next message must be handled. */
  async function open() {
    next += 1;
    const name = `room-${next}`;
    const session = kind.session(name);
    const place = await kind.open(service, name, { folder, browser });
    let sent = 0;
    return {
      ...place,
      /** Sends a message, and waits until the channel has it. */
      async send(content: string): Promise<string> {
        sent += 1;
        const before = count(queued, session);
        const id = `${name}-${sent}`;
        await place.send(id, content);
        await expect.poll(() => count(queued, session)).toBe(before + 1);
        return id;
      },
      async shows(text: string): Promise<void> {
        await expect.poll(place.shown).toContain(text);
      },
      received: () => received.get(session) ?? [],
      aborted: () => aborted.get(session) ?? [],
      asked: () => count(asked, session),
      ended: () => count(ended, session),
      async [Symbol.asyncDispose]() {
        await this.send("next");
        await this.shows("you said next");
        expect(await place.shown()).not.toContain("too late");
        expect(this.received().at(-1)).toBe("next");
        await place[Symbol.asyncDispose]();
      },
    };
  }

  describe.skipIf(isPage && !hasBrowser)("stop", () => {
    test("removes a waiting message", async () => {
      await using place = await open();
      const first = await place.send("given");
      await expect.poll(place.received).toEqual(["given"]);
      const second = await place.send("waiting");
      const statuses = await place.stop(second);
      await expect.poll(place.asked).toBe(kind.isNamed ? 1 : 2);
      if (kind.isNamed) {
        expect([place.aborted(), statuses ?? ["removed"]]).toEqual([[], ["removed"]]);
        expect((await place.stop(first)) ?? ["stopping"]).toEqual(["stopping"]);
      } else expect(statuses ?? ["removed", "stopping"]).toEqual(["removed", "stopping"]);
      await expect.poll(place.aborted).toEqual(["given"]);
      expect(place.received()).toEqual(["given"]);
    });

    test("aborts a message that is not accepted yet", async () => {
      await using place = await open();
      const id = await place.send("given");
      await expect.poll(place.received).toEqual(["given"]);
      expect((await place.stop(id)) ?? ["stopping"]).toEqual(["stopping"]);
      await expect.poll(place.aborted).toEqual(["given"]);
      expect(place.asked()).toBe(1);
    });

    test("ends an answer with the text so far", async () => {
      await using place = await open();
      const id = await place.send("accepted");
      await place.shows("so far");
      expect((await place.stop(id)) ?? ["stopping"]).toEqual(["stopping"]);
      await expect.poll(place.aborted).toEqual(["accepted"]);
      expect(await place.shown()).toContain("so far");
      expect(place.asked()).toBe(1);
    });

    const { over, unknown } = kind;
    test.each(over ? [{ over }] : [])("does nothing after the end", async (expected) => {
      await using place = await open();
      const id = await place.send("short");
      await place.shows("you said short");
      await expect.poll(place.ended).toBe(1);
      expect(await place.stop(id)).toEqual(expected.over);
      expect([place.aborted(), place.asked()]).toEqual([[], 0]);
    });

    test.each(unknown ? [{ unknown }] : [])("does nothing to other messages", async (expected) => {
      await using place = await open();
      const id = await place.send("accepted");
      await place.shows("so far");
      expect(await place.stop("nothing")).toEqual(expected.unknown);
      expect([place.aborted(), place.asked()]).toEqual([[], 0]);
      await place.stop(id);
      await expect.poll(place.aborted).toEqual(["accepted"]);
    });
  });
});
