// Lists every place that deletes stored data, with what decides it: nothing irreversible depends on
// one reading of the system clock.
import { describe, expect, test } from "vitest";
import { sources } from "./source.ts";

const calls = /\b(?:rm|rmSync|unlink|unlinkSync|unlinkIfPresent)\((?!path: string)/;
const statements = /\bDELETE FROM\b|'(?:DEL|UNLINK|XTRIM|LTRIM|EXPIRE|PEXPIRE)'/;

/** By age, on a clock that one wrong reading of the system clock does not move. */
const bySteadyClock = [
  // Retention: `Rows.expired` reads `aged`, which `SteadyClock` writes.
  "plugins/conversations/sqlite/rows.ts",
  // Digests of ids, by the running time that `Rows` measures with a `SteadyClock`.
  "plugins/conversations/sqlite/deleted-ids.ts",
  // `Upkeep` compares `agedAt` of `FileClock`. Leftovers must be old on both clocks.
  "plugins/media/folder-store.ts",
];

/** By age, on the clock of the Redis server, which counts the time that passes. */
const byRedis = [
  "plugins/redis/batch-script.ts",
  "plugins/redis/scripts.ts",
  "plugins/redis/session-scripts.ts",
];

/** By an event: age decides nothing. */
const byEvent: Readonly<Record<string, string>> = {
  "bin/commands/key.ts": "A file of this command, which has received no secret.",
  "bin/commands/expose.ts": "A file of this command, which Caddy has rejected.",
  "bin/commands/service.ts": "A person removes the service.",
  "config/backup/create.ts": "An unfinished file of a backup that has ended.",
  "config/backup/restore.ts": "A prepared folder of a restore that has ended, or an empty home.",
  "plugins/backup/index.ts": "Newer good backups, by their number.",
  "bin/log/file.ts": "The size of a log file.",
  "lib/files/write.ts": "Its writer has ended; files of other machines hold no finished write.",
  "lib/files/lock.ts": "A lock, not data.",
  "lib/agent/testing.ts": "A folder of one call of `talk`.",
  "bin/sign-in-page.ts": "A page with a link that lives for 5 minutes, not data.",
  "plugins/conversations/sqlite/answers.ts": "The conversation is deleted, or has 256 ends.",
  "plugins/conversations/sqlite/question-index.ts": "A question is answered, or is deleted.",
  "plugins/conversations/sqlite/upkeep.ts": "The conversation was hidden by `Rows`.",
  "plugins/dashboard/server/auth/sign-in-keeper.ts": "`keep_sign_ins` is turned off.",
  "plugins/dashboard/server/control/socket.ts": "The process stops; a socket, not data.",
  "plugins/program/answer-folder.ts": "The process that has made the folder has ended.",
};

describe("Deletions", () => {
  test("have a known reason", () => {
    const found = sources()
      .filter(
        ({ path, code, text }) =>
          !path.startsWith("testkit/") && (calls.test(code) || statements.test(text)),
      )
      .map(({ path }) => path);
    expect(found.sort()).toEqual([...bySteadyClock, ...byRedis, ...Object.keys(byEvent)].sort());
  });

  test("read no system clock if age decides", () => {
    const reads = /\bDate\.now\b|\bclock\.now\(/;
    const mixed = sources()
      .filter(({ path }) => [...bySteadyClock, "plugins/media/file-clock.ts"].includes(path))
      .flatMap(({ path, code }) =>
        code
          .split("\n")
          .filter((line) => reads.test(line))
          .map((line) => `${path} ${line.trim()}`),
      );
    // The time of an entry, which people see.
    expect(mixed).toEqual(["plugins/conversations/sqlite/rows.ts this.options.clock.now(),"]);
  });

  test("end sign-ins by a steady clock", () => {
    const sessions = sources().find(
      ({ path }) => path === "plugins/dashboard/server/auth/sessions.ts",
    );
    expect(sessions!.imports.flatMap(({ names }) => names)).toContain("SteadyClock");
  });
});
