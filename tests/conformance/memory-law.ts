// The law of conversations in memory: a stream lives while a client is connected and five minutes of
// running longer, whatever the clock of the system says.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { SessionLog, Subscriber } from "../../plugins/conversations/index.ts";
import { MemoryConversations } from "../../plugins/conversations/memory.ts";
import type { TestEntry } from "../support/sqlite-store.ts";
import { contentOf, StoppedWorld, toLogEntry, type StoreLaw, type StoreStep } from "./store-law.ts";

const minute = 60_000;

class MemoryWorld extends StoppedWorld {
  private readonly log: SessionLog;
  private readonly connected = new Set<string>();
  /** When the last client left, in time of running. */
  private readonly leftAt = new Map<string, number>();
  private readonly subscriber: Subscriber = { onEntry: () => undefined };

  constructor() {
    super();
    const { clock } = this;
    const store = new MemoryConversations({
      clock,
      random: (bytes) => randomBytes(bytes),
      after(ms, run) {
        const timer = clock.setTimeout(run, ms);
        return () => clock.clearTimeout(timer);
      },
    });
    this.log = store.open("pico", {
      onReceipt: () => undefined,
      sessionActive: () => undefined,
      sessionIdle: () => undefined,
      renewed: () => undefined,
    });
  }

  protected override async special(step: StoreStep): Promise<void> {
    const { what, session, size } = step;
    await super.special(step);
    if (what === "join") this.join(session);
    if (what === "leave") this.leave(session);
    if (what === "idle") await this.idle(size / 4);
  }

  async check(): Promise<void> {
    for (const session of ["a", "b", "c"]) {
      const known = this.known.sessions.get(session);
      const top = await this.log.top(session);
      if (!known) {
        assert.equal(top?.seq ?? 0, 0);
        continue;
      }
      const { frames, partials, gap } = await this.log.readAfter(session, {
        epoch: known.epoch,
        seq: 0,
      });
      assert.equal(gap, undefined);
      this.checkSession(session, { ...top!, texts: textsOf(frames) });
      this.checkPartials(session, partials);
    }
  }

  protected async store(one: TestEntry): Promise<string | undefined> {
    const { cursor } = await this.log.append(one.session, toLogEntry(one));
    if (!this.connected.has(one.session)) this.visit(one.session);
    return cursor!.epoch;
  }

  protected async grow(session: string, message: string, frame: Uint8Array): Promise<void> {
    await this.log.append(session, { frame, message, type: "message.update", numbered: false });
  }

  private join(session: string): void {
    if (this.connected.has(session)) return;
    void this.log.subscribe(session, this.subscriber, { resumes: true });
    this.connected.add(session);
  }

  private leave(session: string): void {
    if (!this.connected.delete(session)) return;
    this.log.unsubscribe(session, this.subscriber);
    this.leftAt.set(session, this.elapsed());
  }

  private visit(session: string): void {
    this.join(session);
    this.leave(session);
  }

  private async idle(minutes: number): Promise<void> {
    await this.clock.pass(minutes * minute);
    const isOver = (session: string): boolean =>
      !this.connected.has(session) && this.elapsed() - this.leftAt.get(session)! >= 5 * minute;
    for (const session of [...this.known.sessions.keys()])
      if (isOver(session)) this.known.sessions.delete(session);
  }
}

/** The texts of frames: a changed message keeps its place. */
function textsOf(frames: readonly Uint8Array[]): (string | undefined)[] {
  const texts = new Map<string, string>();
  for (const frame of frames) {
    const { type, payload } = JSON.parse(new TextDecoder().decode(frame)) as {
      readonly type: string;
      readonly payload: { readonly message_id?: string };
    };
    texts.set(payload.message_id ?? `${type} ${texts.size}`, contentOf(frame));
  }
  // A message begins without text.
  return [...texts.values()].map((text) => (text === "" ? undefined : text));
}

export const memoryLaw: StoreLaw = {
  weights: { join: 3, leave: 2, idle: 4, jump: 2, suspend: 1 },
  open: async () => new MemoryWorld(),
};
