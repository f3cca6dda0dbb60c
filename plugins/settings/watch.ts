/** Applies manual edits of the configuration files while the kernel runs. */
import { watchFiles } from "../../lib/files/index.ts";
import type { Release, Scope } from "../../kernel/index.ts";
import type { SectionReloader } from "./editor.ts";
import type { SettingsEvents, SettingsSources } from "./service.ts";

/** A rejection may depend on another file, such as one with a token, so it is tried again. */
const retryMs = 2_000;

interface WatchOptions extends SectionReloader {
  readonly sources: SettingsSources;
  readonly sections: () => readonly string[];
  /** Section -> reason, while the content of its file is rejected. */
  readonly rejected: Map<string, string>;
  readonly scope: Pick<
    Scope<{ emits: SettingsEvents }>,
    "log" | "emit" | "after" | "on" | "onStop"
  >;
}

/** Follows the file of each section. */
class SectionWatcher {
  private readonly options: WatchOptions;
  /** Sections whose file has existed. */
  private readonly known = new Set<string>();
  private readonly retries = new Map<string, Release>();
  private closed = false;

  constructor(options: WatchOptions) {
    this.options = options;
  }

  close(): void {
    this.closed = true;
  }

  /** Applies the file of a section and reports the result. */
  async follow(section: string): Promise<void> {
    if (this.closed) return;
    const { rejected, scope } = this.options;
    let applied: Awaited<ReturnType<SectionReloader["apply"]>>;
    try {
      applied = await this.options.apply(section);
    } catch (error) {
      const { message } = error as Error;
      const path = this.pathOf(section);
      return this.reject(section, message.includes(path) ? message : `${path}: ${message}`);
    }
    if (!applied)
      return this.known.has(section)
        ? this.reject(section, `${this.pathOf(section)} is missing.`)
        : undefined;
    this.known.add(section);
    this.retries.get(section)?.();
    const wasRejected = rejected.delete(section);
    const { now, afterRestart } = applied;
    const keys = [...now, ...afterRestart];
    if (keys.length > 0)
      scope.log.info({ section, now, afterRestart }, "an edit of the settings took effect");
    else if (wasRejected) scope.log.info({ section }, "the rejected edit was undone");
    else return;
    scope.emit("settings:changed", { section, keys: keys.join(",") });
  }

  /** @returns Whether the file differs from the loaded configuration on the first read. */
  async wasEdited(section: string): Promise<boolean> {
    const { sources, read } = this.options;
    const loaded = sources.loaded?.(section);
    const found = await read(section).catch(() => null); // `follow` reports the error
    const current = found === undefined ? sources.overlay(section, {}) : found;
    const differs = loaded !== undefined && JSON.stringify(current) !== JSON.stringify(loaded);
    if (found !== undefined || differs) this.known.add(section);
    return differs;
  }

  pathOf(section: string): string {
    return this.options.sources.file(section).path;
  }

  private reject(section: string, message: string): void {
    const { rejected, scope } = this.options;
    if (rejected.get(section) !== message) {
      rejected.set(section, message);
      scope.log.warn({ section }, `rejected an edit, the previous settings stay: ${message}`);
      scope.emit("settings:rejected", { section, message });
    }
    this.retries.get(section)?.();
    this.retries.set(
      section,
      scope.after(retryMs, () => void this.follow(section)),
    );
  }
}

/**
 * Applies edits of the files like changes on the dashboard, from the time the configuration was
 * loaded. An invalid edit changes nothing. A host may start the kernel with other values than the
 * files contain: those stay until the first edit.
 *
 * @returns A promise that resolves when each file was read once.
 */
export async function watchSettingsFiles(options: WatchOptions): Promise<void> {
  const { sections, scope } = options;
  const watcher = new SectionWatcher(options);
  const seen = new Set<string>();
  /** Plugins accept changes only after they have started. */
  const ready = new Promise<void>((resolve) => scope.on("kernel:state-changed", () => resolve()));
  let finishFirstRead = (): void => undefined;
  const firstRead = new Promise<void>((resolve) => {
    finishFirstRead = resolve;
  });
  const paths = new Set(sections().map((section) => watcher.pathOf(section)));
  const stop = watchFiles([...paths], async (path) => {
    const inFile = sections().filter((section) => watcher.pathOf(section) === path);
    if (!seen.has(path)) {
      seen.add(path);
      for (const section of inFile)
        if (await watcher.wasEdited(section)) void ready.then(() => watcher.follow(section));
      return seen.size === paths.size ? finishFirstRead() : undefined;
    }
    await ready;
    for (const section of inFile) await watcher.follow(section);
  });
  scope.onStop(() => {
    watcher.close();
    stop();
  });
  if (paths.size > 0) await firstRead;
}
