import { readJson, watchFiles } from "../../config/files/index.ts";
import type { Release, Scope } from "../../kernel/index.ts";
import type { SettingsEvents } from "./events.ts";
import type { SettingsSources } from "./sources.ts";

/** A refusal may rest on what another file says (a token, say): it is tried again. */
const RETRY_MS = 2_000;

interface Following {
  readonly sources: SettingsSources;
  readonly sections: () => readonly string[];
  /** Section -> what was said against its file, while that stands. */
  readonly rejected: Map<string, string>;
  readonly adopt: (section: string) => Promise<{ now: string[]; afterRestart: string[] } | undefined>;
  readonly scope: Pick<Scope<{ emits: SettingsEvents }>, "log" | "emit" | "after" | "onReady" | "onStop">;
}

/** From now on edits of the files by hand take effect as changes of the dashboard do; what is not valid changes
 *  nothing. What the files hold at first is what the kernel was started with, or what its host chose to start it with
 *  instead. Resolves when that has been read. */
export async function followFiles({ sources, sections, rejected, adopt, scope }: Following): Promise<void> {
  const { log, emit, after } = scope;
  /** Sections whose file was there. */
  const known = new Set<string>();
  const first = new Set<string>();
  const retries = new Map<string, Release>();
  let closed = false;
  const ready = new Promise<void>((done) => scope.onReady(() => done()));

  function reject(section: string, message: string): void {
    if (rejected.get(section) !== message) {
      rejected.set(section, message);
      log.warn({ section }, `an edit of the settings was refused, the old ones stay: ${message}`);
      emit("settings:rejected", { section, message });
    }
    retries.get(section)?.();
    retries.set(section, after(RETRY_MS, () => void follow(section)));
  }

  async function follow(section: string): Promise<void> {
    if (closed) return;
    let adopted: Awaited<ReturnType<Following["adopt"]>>;
    try {
      adopted = await adopt(section);
    } catch (error) {
      const { message } = error as Error;
      const { path } = sources.file(section);
      return reject(section, message.includes(path) ? message : `${path}: ${message}`);
    }
    if (!adopted) return known.has(section) ? reject(section, `${sources.file(section).path} is missing.`) : undefined;
    known.add(section);
    retries.get(section)?.();
    const wasRejected = rejected.delete(section);
    const { now, afterRestart } = adopted;
    const keys = [...now, ...afterRestart];
    if (keys.length > 0) log.info({ section, now, afterRestart }, "an edit of the settings took effect");
    else if (wasRejected) log.info({ section }, "the edit that was refused is taken back");
    else return;
    emit("settings:changed", { section, keys: keys.join(",") });
  }

  const pathOf = (section: string): string => sources.file(section).path;
  let begun = (): void => undefined;
  const beginning = new Promise<void>((done) => { begun = done; });
  const paths = new Set(sections().map(pathOf));
  const stop = watchFiles([...paths], async (path) => {
    const own = sections().filter((section) => pathOf(section) === path);
    if (!first.has(path)) {
      first.add(path);
      const found = await readJson(path).catch(() => true);
      if (found) for (const section of own) known.add(section);
      return first.size === paths.size ? begun() : undefined;
    }
    await ready;
    for (const section of own) await follow(section);
  });
  scope.onStop(() => {
    closed = true;
    stop();
  });
  if (paths.size > 0) await beginning;
}
