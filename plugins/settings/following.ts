import { watchFiles } from "../../config/files/index.ts";
import type { Release, Scope } from "../../kernel/index.ts";
import type { SettingsEvents } from "./events.ts";
import type { SettingsSources } from "./sources.ts";

/** A refusal may rest on what another file says (a token, say): it is tried again. */
const RETRY_MS = 2_000;

interface Following {
  readonly sources: SettingsSources;
  readonly sections: () => readonly string[];
  readonly adopt: (section: string) => Promise<{ now: string[]; afterRestart: string[] } | undefined>;
  readonly scope: Pick<Scope<{ emits: SettingsEvents }>, "log" | "emit" | "after">;
}

/** Edits of the files by hand take effect as changes of the dashboard do; what is not valid changes nothing. */
export function createFollowing({ sources, sections, adopt, scope }: Following): Release {
  const { log, emit, after } = scope;
  /** Section -> what was said against its file: said once. */
  const rejected = new Map<string, string>();
  /** Sections whose file was there. */
  const known = new Set<string>();
  let closed = false;

  function reject(section: string, message: string): void {
    if (rejected.get(section) !== message) {
      rejected.set(section, message);
      log.warn({ section }, `an edit of the settings was refused, the old ones stay: ${message}`);
      emit("settings:rejected", { section, message });
    }
    after(RETRY_MS, () => {
      if (rejected.has(section)) void follow(section);
    });
  }

  async function follow(section: string): Promise<void> {
    if (closed) return;
    let adopted: Awaited<ReturnType<Following["adopt"]>>;
    try {
      adopted = await adopt(section);
    } catch (error) {
      return reject(section, (error as Error).message);
    }
    if (!adopted) return known.has(section) ? reject(section, `${sources.file(section).path} is missing.`) : undefined;
    known.add(section);
    rejected.delete(section);
    const { now, afterRestart } = adopted;
    const keys = [...now, ...afterRestart];
    if (keys.length === 0) return;
    log.info({ section, now, afterRestart }, "an edit of the settings took effect");
    emit("settings:changed", { section, keys: keys.join(",") });
  }

  const pathOf = (section: string): string => sources.file(section).path;
  const stop = watchFiles(sections().map(pathOf), async (path) => {
    for (const section of sections()) if (pathOf(section) === path) await follow(section);
  });
  return () => {
    closed = true;
    stop();
  };
}
