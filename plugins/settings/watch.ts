import { watchFiles } from "../../lib/files/index.ts";
import type { Release, Scope } from "../../kernel/index.ts";
import type { SectionReloader } from "./editor.ts";
import type { SettingsEvents, SettingsSources } from "./service.ts";

/** A refusal may rest on what another file says (a token, say): it is tried again. */
const retryMs = 2_000;

interface WatchOptions extends SectionReloader {
  readonly sources: SettingsSources;
  readonly sections: () => readonly string[];
  /** Section -> what was said against its file, while that stands. */
  readonly rejected: Map<string, string>;
  readonly scope: Pick<
    Scope<{ emits: SettingsEvents }>,
    "log" | "emit" | "after" | "on" | "onStop"
  >;
}

/** Edits of the files by hand take effect as changes of the dashboard do, from the moment the configuration was read;
 *  what is not valid changes nothing. A host may have started the kernel with other values than the files hold: those
 *  stay until there is an edit. Resolves when each file was looked at. */
export async function watchSettingsFiles({
  sources,
  sections,
  rejected,
  read,
  adopt,
  scope,
}: WatchOptions): Promise<void> {
  const { log, emit, after } = scope;
  /** Sections whose file was there. */
  const known = new Set<string>();
  const first = new Set<string>();
  const retries = new Map<string, Release>();
  let closed = false;
  /** A plugin takes no change before it has started. */
  const ready = new Promise<void>((done) => scope.on("kernel:state-changed", () => done()));

  function reject(section: string, message: string): void {
    if (rejected.get(section) !== message) {
      rejected.set(section, message);
      log.warn({ section }, `an edit of the settings was refused, the old ones stay: ${message}`);
      emit("settings:rejected", { section, message });
    }
    retries.get(section)?.();
    retries.set(
      section,
      after(retryMs, () => void follow(section)),
    );
  }

  async function follow(section: string): Promise<void> {
    if (closed) return;
    let adopted: Awaited<ReturnType<SectionReloader["adopt"]>>;
    try {
      adopted = await adopt(section);
    } catch (error) {
      const { message } = error as Error;
      const { path } = sources.file(section);
      return reject(section, message.includes(path) ? message : `${path}: ${message}`);
    }
    if (!adopted)
      return known.has(section)
        ? reject(section, `${sources.file(section).path} is missing.`)
        : undefined;
    known.add(section);
    retries.get(section)?.();
    const wasRejected = rejected.delete(section);
    const { now, afterRestart } = adopted;
    const keys = [...now, ...afterRestart];
    if (keys.length > 0)
      log.info({ section, now, afterRestart }, "an edit of the settings took effect");
    else if (wasRejected) log.info({ section }, "the edit that was refused is taken back");
    else return;
    emit("settings:changed", { section, keys: keys.join(",") });
  }

  /** Whether the first look finds another file than the one that was loaded. */
  async function wasEdited(section: string): Promise<boolean> {
    const loaded = sources.loaded?.(section);
    const found = await read(section).catch(() => null); // `follow` says what is wrong with it
    const now = found === undefined ? sources.overlay(section, {}) : found;
    const isOther = loaded !== undefined && JSON.stringify(now) !== JSON.stringify(loaded);
    if (found !== undefined || isOther) known.add(section);
    return isOther;
  }

  const pathOf = (section: string): string => sources.file(section).path;
  let begun = (): void => undefined;
  const beginning = new Promise<void>((done) => {
    begun = done;
  });
  const paths = new Set(sections().map(pathOf));
  const stop = watchFiles([...paths], async (path) => {
    const own = sections().filter((section) => pathOf(section) === path);
    if (!first.has(path)) {
      first.add(path);
      for (const section of own)
        if (await wasEdited(section)) void ready.then(() => follow(section));
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
