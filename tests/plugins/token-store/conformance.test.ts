// Runs the conformance tests of token backends on memory() and files().
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { stringify } from "yaml";
import { files, memory } from "../../../plugins/token-store/index.ts";
import { storeFormConformance } from "../../conformance/token-store.ts";

const folders: string[] = [];
const home = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "doorward-backend-"));
  folders.push(folder);
  return folder;
};
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

async function writeLauncher(path: string, token: string | undefined): Promise<void> {
  if (token === undefined) return;
  await writeFile(join(path, "launcher-config.json"), JSON.stringify({ launcher_token: token }));
}
const channelsOf = (tokens: Readonly<Record<string, string>>): object => ({
  channels: Object.fromEntries(Object.entries(tokens).map(([name, token]) => [name, { token }])),
});

describe("memory()", () => {
  storeFormConformance((tokens) => memory(tokens));
});

describe("files() with .security.yml", () => {
  storeFormConformance(async ({ launcher, ...channels }) => {
    const path = await home();
    await writeLauncher(path, launcher);
    if (Object.keys(channels).length > 0)
      await writeFile(join(path, ".security.yml"), stringify(channelsOf(channels)));
    return files({ home: path, env: {} });
  });
});

describe("files() with config.json", () => {
  storeFormConformance(async ({ launcher, ...channels }) => {
    const path = await home();
    await writeLauncher(path, launcher);
    await writeFile(join(path, "config.json"), JSON.stringify(channelsOf(channels)));
    return files({ home: path, env: {} });
  });
});

describe("files() in a home that does not exist yet", () => {
  storeFormConformance(async (tokens) => {
    const path = join(await home(), "a", "b");
    const backend = files({ home: path, env: {} });
    for (const [name, token] of Object.entries(tokens))
      await backend.write(name, token, { setupPending: false });
    return backend;
  });
});
