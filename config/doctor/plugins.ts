import type { CheckView } from "../../plugins/dashboard/index.ts";
import { assertTrusted, withParentFolders } from "../../lib/files/index.ts";
import { resolvePluginFile, readEntries } from "../plugins/index.ts";
import type { Survey } from "./survey.ts";
import { createCheck } from "./verdict.ts";

/** Plugins by other authors: in a running launcher how they fare, else whether they are there and the owner's alone.
 *  Their code is not run here. */
export async function pluginChecks(found: Survey): Promise<CheckView[]> {
  const own = createCheck("plugins", "Plugins by other authors");
  const { home, files, plugins: running, pluginEntries } = found;
  if (running) {
    if (running.length === 0) return [];
    const failed = running.filter(({ state }) => state === "failed");
    const others = running.filter((each) => !failed.includes(each));
    const list = others.map(({ name, from, state }) => `${name} (${from}): ${state}`).join(", ");
    if (failed.length === 0) return [own.ok(`${list}.`)];
    const reasons = failed.map(({ from, reason }) => `${from}: failed: ${reason}`);
    const all = [...reasons, ...(list ? [`${list}.`] : [])].join(" ");
    return [
      own.failed(all, "mend what is named, or take it out of plugins in config.json; restart"),
    ];
  }
  try {
    const entries = readEntries(pluginEntries, files.config);
    if (entries.length === 0) return [];
    await assertTrusted([...(await withParentFolders(files.config)), home]);
    for (const { from } of entries) await resolvePluginFile(from, home);
    return [
      own.ok(`${entries.map(({ from }) => from).join(", ")}: there, and only you can change them.`),
    ];
  } catch (error) {
    return [own.failed((error as Error).message, "do what it says; the start says the same")];
  }
}
