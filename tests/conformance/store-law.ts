// The law of the stores: acknowledged messages exist once, in order, under the same epoch, and
// forgotten ones do not, after any events that the promise of the store covers.
import assert from "node:assert/strict";
import fc from "fast-check";
import type { LogEntry } from "../../plugins/conversations/index.ts";
import { weighted } from "../support/runs.ts";
import { entry, StoppedTime, type TestEntry } from "../support/sqlite-store.ts";

const day = 86_400_000;

/** A turn that was acknowledged. */
interface KnownTurn {
  readonly message: string;
  /** Absent while the message grows. */
  text: string | undefined;
  /** The text so far, while the message grows. */
  growing?: string;
  /** For the message of a person, when its complete answer was stored, in time of running. */
  answeredAt?: number;
}

interface KnownSession {
  epoch: string;
  seq: number;
  readonly turns: KnownTurn[];
  name: string;
  /** All texts that were ever said there. */
  readonly texts: string[];
}

export interface Known {
  sessions: Map<string, KnownSession>;
  forgotten: string[];
}

export interface StoreStep {
  readonly what: string;
  readonly session: string;
  readonly size: number;
}

/** The steps of every store. */
const commonWeights = { message: 8, answer: 6, begin: 3, grow: 3, stop: 2, edit: 2 };

const storeSteps = (weights: Readonly<Record<string, number>>): fc.Arbitrary<StoreStep[]> =>
  fc.array(
    fc.record({
      what: weighted({ ...commonWeights, ...weights }),
      session: fc.constantFrom("a", "b", "c"),
      size: fc.integer({ min: 1, max: 30 }),
    }),
    { minLength: 5, maxLength: 40 },
  );

/** A session as readers see it. A text is undefined while it grows. */
interface SeenSession {
  readonly epoch: string;
  readonly seq: number;
  readonly texts: readonly (string | undefined)[];
}

/** The acknowledged entries, and the steps of every store. */
export abstract class StoreWorld {
  protected known: Known = { sessions: new Map(), forgotten: [] };
  protected count = 0;

  /** @returns The epoch of the session; undefined if the entry was not acknowledged. */
  protected abstract store(one: TestEntry, epoch: string | undefined): Promise<string | undefined>;
  /** Passes the text of an unfinished message. */
  protected abstract grow(session: string, message: string, frame: Uint8Array): Promise<void>;
  /** A step of this store. */
  protected abstract special(step: StoreStep): Promise<void>;
  /** Compares everything that readers can see with what was acknowledged. */
  abstract check(): Promise<void>;
  /** Milliseconds of running. */
  protected abstract elapsed(): number;

  async run(step: StoreStep): Promise<void> {
    const { what, session, size } = step;
    const { turns = [] } = this.known.sessions.get(session) ?? {};
    const open = turns.find(({ text }) => text === undefined);
    const last = turns.findLast(({ text, message }) => text !== undefined && message[0] === "m");
    if (what === "message") await this.say(session, size);
    else if (what === "answer") await this.answer(session, size);
    else if (what === "begin") await (open ? undefined : this.begin(session));
    else if (what === "grow") await (open && this.growText(session, open, size));
    else if (what === "stop") await (open && this.change(session, open, size));
    else if (what === "edit") await (last && this.change(session, last, size));
    else await this.special(step);
  }

  protected checkSession(session: string, { epoch, seq, texts }: SeenSession): void {
    const known = this.known.sessions.get(session)!;
    assert.deepEqual([epoch, seq], [known.epoch, known.seq]);
    assert.deepEqual(
      texts,
      known.turns.map(({ text }) => text),
    );
  }

  /** Compares the latest text of each message that grows. */
  protected checkPartials(session: string, partials: readonly Uint8Array[]): void {
    const { turns } = this.known.sessions.get(session)!;
    const growing = turns.flatMap(({ text, growing: latest }) =>
      text === undefined && latest !== undefined ? [latest] : [],
    );
    assert.deepEqual(partials.map(contentOf), growing);
  }

  /** The ids of the messages whose complete answer was stored, at most this long ago. */
  protected answered(session: string, ms: number): readonly string[] {
    const { turns } = this.known.sessions.get(session)!;
    return turns.flatMap(({ message, answeredAt = -Infinity }) =>
      this.elapsed() - answeredAt < ms ? [message] : [],
    );
  }

  /** Appends an entry. @returns True if it was acknowledged. */
  private async append(one: TestEntry): Promise<boolean> {
    const { sessions } = this.known;
    const known = sessions.get(one.session);
    const text = contentOf(one.frame);
    known?.texts.push(text);
    const epoch = await this.store(one, known?.epoch);
    if (epoch === undefined) return false;
    if (known) {
      known.seq += 1;
      assert.equal(epoch, known.epoch);
    } else sessions.set(one.session, { epoch, seq: 1, turns: [], name: "", texts: [text] });
    return true;
  }

  private newText(size: number): string {
    return `text${(this.count += 1)}q ${"word ".repeat(size)}`.trim();
  }

  private async say(session: string, size: number): Promise<void> {
    const text = this.newText(size);
    const message = `q${this.count}`;
    const one = entry("user", message, text, { session, request: message });
    if (await this.append(one)) this.known.sessions.get(session)!.turns.push({ message, text });
  }

  private async answer(session: string, size: number): Promise<void> {
    const { turns = [] } = this.known.sessions.get(session) ?? {};
    const question = turns.findLast(({ message }) => message.startsWith("q"));
    const text = this.newText(size);
    const message = `m${this.count}`;
    const answers = question?.message;
    const one = entry("create", message, text, { session, answers });
    if (!(await this.append(one))) return;
    this.known.sessions.get(session)!.turns.push({ message, text });
    if (question) question.answeredAt ??= this.elapsed();
  }

  private async begin(session: string): Promise<void> {
    const message = `m${(this.count += 1)}`;
    const one = entry("create", message, "", { session, final: false });
    if (await this.append(one))
      this.known.sessions.get(session)!.turns.push({ message, text: undefined });
  }

  private async growText(session: string, turn: KnownTurn, size: number): Promise<void> {
    const { message } = turn;
    const text = (turn.growing = this.newText(size));
    this.known.sessions.get(session)!.texts.push(text);
    const { frame } = entry("update", message, text, { session, final: false });
    await this.grow(session, message, frame);
  }

  private async change(session: string, turn: KnownTurn, size: number): Promise<void> {
    const text = this.newText(size);
    if (await this.append(entry("update", turn.message, text, { session }))) turn.text = text;
  }
}

/** A store on a clock that only its steps move. */
export abstract class StoppedWorld extends StoreWorld {
  protected readonly clock = new StoppedTime();

  protected elapsed(): number {
    return this.clock.monotonic();
  }

  protected async special({ what, size }: StoreStep): Promise<void> {
    const { clock } = this;
    if (what === "jump") clock.offset += (size % 2 === 0 ? 1 : -1) * size * 20 * day;
    if (what === "suspend") clock.suspend(size * day);
  }
}

/** @returns The text of a frame. */
export const contentOf = (frame: Uint8Array): string =>
  (JSON.parse(new TextDecoder().decode(frame)) as { payload: { content: string } }).payload.content;

/** @returns The entry for a session log. */
export const toLogEntry = (one: TestEntry): LogEntry => ({ ...one, numbered: true });

/** The law for one store. */
export interface StoreLaw {
  /** The steps of this store, with their weights. */
  readonly weights: Readonly<Record<string, number>>;
  open(): Promise<StoreWorld>;
}

/** Checks the law for this many histories. */
export async function checkStoreLaw(law: StoreLaw, numRuns: number): Promise<void> {
  const check = async (steps: readonly StoreStep[]): Promise<void> => {
    const world = await law.open();
    for (const step of steps) await world.run(step);
    await world.check();
  };
  await fc.assert(fc.asyncProperty(storeSteps(law.weights), check), { numRuns });
}
