// Which pages are in sight. A person who looks at one needs no notification.
import type { Records } from "../records/index.ts";

/** A page says that it is visible every 45 s, so a page that has gone counts for a minute. */
const keptMs = 60_000;
const maxPages = 200;

interface SeenOptions {
  readonly now: () => number;
  /** Pages of all nodes; undefined if there is one node. */
  readonly shared: Records<number> | undefined;
}

/** The visible pages and until when each counts, in Unix milliseconds. */
export class Seen {
  private readonly options: SeenOptions;
  private readonly own = new Map<string, number>();

  constructor(options: SeenOptions) {
    this.options = options;
  }

  async note(page: string, isVisible: boolean): Promise<void> {
    const { now, shared } = this.options;
    const until = now() + keptMs;
    if (!isVisible) this.own.delete(page);
    else if (this.own.has(page) || this.own.size < maxPages) this.own.set(page, until);
    for (const [each, end] of this.own) if (!this.counts(end)) this.own.delete(each);
    if (!shared) return;
    await (isVisible ? shared.put(page, until) : shared.remove(page));
  }

  async isLooking(): Promise<boolean> {
    if ([...this.own.values()].some((until) => this.counts(until))) return true;
    const { shared } = this.options;
    const found = (await shared?.list()) ?? [];
    const past = found.filter(({ value }) => !this.counts(value));
    for (const { key } of past) await shared?.remove(key);
    return past.length < found.length;
  }

  /** A clock that was set back must not keep notifications away for long. */
  private counts(until: number): boolean {
    const left = until - this.options.now();
    return left > 0 && left <= keptMs;
  }
}
