// Whether the file of the store can be used, and what its owner has to know about it.
import { statSync } from "node:fs";
import type { Clock, Log } from "../../../kernel/index.ts";
import type { Address } from "../messages.ts";
import type { StoreHealth } from "../contract.ts";
import { describeError, fixOf, isDamage, resultCode } from "./driver.ts";
import { moveAside, storeErrors } from "./errors.ts";
import { fileId } from "./recovery.ts";

interface StateOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly wasEmpty?: boolean;
}

/** How long a file counts as the one that was opened. */
const sameFileMs = 100;

const emptied = {
  notice: "The file of the conversations was empty at the start: earlier ones are not in it.",
  fix: "If there were conversations, stop Doorward and restore a backup.",
};

export class StoreState {
  /** Set if a sync has failed or the file is damaged: the store then needs a new start. */
  lost: unknown;
  isClosed = false;
  private readonly options: StateOptions;
  private readonly file: string;
  private lookedAt = -Infinity;
  private problem: { readonly text: string; readonly fix: string | undefined } | undefined;
  private since: number;

  constructor(options: StateOptions) {
    this.options = options;
    this.file = fileId(options.path);
    this.since = options.clock.now();
  }

  /** True from a failure until the next success. */
  hasProblem(): boolean {
    return this.problem !== undefined;
  }

  assertOpen(): void {
    if (this.lost !== undefined) throw this.lost;
    if (this.isClosed) throw storeErrors.store_unavailable(this.options.path, "it is closed");
  }

  assertSameFile(): void {
    const now = this.options.clock.monotonic();
    if (this.problem === undefined && now - this.lookedAt < sameFileMs) return;
    if (fileId(this.options.path) === this.file) return void (this.lookedAt = now);
    const reason = "another file has taken its place; restart Doorward to use that one";
    throw storeErrors.store_unavailable(this.options.path, reason);
  }

  /**
   * Notes that the store fails.
   *
   * @param sessions - The sessions whose messages wait.
   * @returns The error for callers.
   */
  fail(error: unknown, sessions: ReadonlySet<string>): unknown {
    const { path, log, clock } = this.options;
    const reason = describeError(error);
    const isKnown = resultCode(error) === 0 && error instanceof Error;
    const failure = isKnown ? error : storeErrors.store_unavailable(path, reason, { cause: error });
    const fix = isDamage(error) ? `Stop Doorward, and run: ${moveAside(path)}` : fixOf(error, path);
    if (this.problem === undefined) this.since = clock.now();
    if (this.problem?.text !== failure.message)
      log.error({ err: error, path, sessions: [...sessions].slice(0, 20) }, failure.message);
    this.problem = { text: failure.message, fix };
    // Nothing is written to a file that may be damaged further.
    if (isDamage(error)) this.lost = failure;
    return failure;
  }

  /** Notes that the row of one session cannot be written. @returns The error for its callers. */
  refuse({ channel, session }: Address, error: unknown): Error {
    const { path, log } = this.options;
    const text = "a message of this session could not be stored";
    log.error({ err: error, path, channel, session }, text);
    return storeErrors.store_unavailable(path, describeError(error), { cause: error });
  }

  noteSuccess(): void {
    if (this.problem === undefined || this.lost !== undefined) return;
    this.problem = undefined;
    this.since = this.options.clock.now();
    this.options.log.info({ path: this.options.path }, "conversations are stored again");
  }

  /** @param days - How far the system clock is ahead of the conversations. */
  health(
    days: number,
  ): Pick<
    StoreHealth,
    "kind" | "state" | "since" | "problem" | "notice" | "fix" | "path" | "bytes"
  > {
    const { problem } = this;
    const notice =
      `The system clock is ${days} days ahead of the conversations. If it is right, old ` +
      "conversations are deleted a day's worth per hour; if not, set it right.";
    return {
      kind: "sqlite",
      state: problem === undefined ? "up" : "away",
      since: this.since,
      ...(problem && { problem: problem.text, ...(problem.fix && { fix: problem.fix }) }),
      ...(!problem && this.options.wasEmpty && emptied),
      ...(!problem && days > 2 && { notice, fix: "Set the clock of this machine, or wait." }),
      path: this.options.path,
      bytes: this.isClosed ? 0 : this.fileBytes(),
    };
  }

  private fileBytes(): number {
    const size = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    return size(this.options.path) + size(`${this.options.path}-wal`);
  }
}
