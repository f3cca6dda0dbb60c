// Keeps the latest entries of a map, each for a limited time.
import type { Clock } from "../../kernel/index.ts";
import { BoundedMap } from "../../lib/util.ts";

interface RecentMapOptions {
  /** Entries. The oldest one goes first. */
  readonly max: number;
  readonly keepMs: number;
  readonly clock: Pick<Clock, "monotonic">;
}

export class RecentMap<V> {
  private readonly options: RecentMapOptions;
  private readonly entries: BoundedMap<string, { readonly value: V; readonly until: number }>;

  constructor(options: RecentMapOptions) {
    this.options = options;
    this.entries = new BoundedMap(options.max);
  }

  get(key: string): V | undefined {
    const entry = this.entries.get(key);
    return entry && this.options.clock.monotonic() < entry.until ? entry.value : undefined;
  }

  /** Makes this entry the latest one. */
  set(key: string, value: V): void {
    const { keepMs, clock } = this.options;
    this.entries.renew(key, { value, until: clock.monotonic() + keepMs });
  }

  /** Removes the entries that match. */
  remove(matches: (value: V, key: string) => boolean): void {
    for (const [key, { value }] of this.entries) if (matches(value, key)) this.entries.delete(key);
  }

  values(): readonly V[] {
    const now = this.options.clock.monotonic();
    return [...this.entries.values()].flatMap(({ value, until }) => (now < until ? [value] : []));
  }
}
