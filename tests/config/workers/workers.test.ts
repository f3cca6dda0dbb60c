import { execFileSync } from "node:child_process";
import { hostname } from "node:os";
import { describe, expect, test } from "vitest";
import { workersInFile } from "../../../config/workers/count.ts";
import { planWorkers } from "../../../config/workers/index.ts";
import { withHome } from "../../support/token-store-harness.ts";

const redis = { SERVICE_STORE_KIND: "redis" };

describe("workersInFile", () => {
  test.each([
    ['{"port":1}', 1],
    ['\uFEFF{"workers":4}', 4],
    // The launcher reports this file.
    ['{"workers":4', 1],
  ])("reads %j", (text, count) =>
    withHome(async ({ path, write }) => {
      await write("launcher-config.json", text);
      expect(await workersInFile(path)).toBe(count);
    }),
  );

  test.each(["0", "65", "1.5", '"4"'])("rejects %s", (value) =>
    withHome(async ({ path, write }) => {
      await write("launcher-config.json", `{"workers":${value}}`);
      await expect(workersInFile(path)).rejects.toMatchObject({ code: "WORKERS_COUNT" });
    }),
  );

  test("leaves a pipe to the launcher, which reports it", () =>
    withHome(async ({ path, at }) => {
      execFileSync("mkfifo", [at("launcher-config.json")]);
      expect(await workersInFile(path)).toBe(1);
    }));

  test("finds one worker in a new home", () =>
    withHome(async ({ path }) => expect(await workersInFile(path)).toBe(1)));
});

describe("planWorkers", () => {
  test("numbers ports and names, and leaves out the port of the channel", () =>
    withHome(async ({ path: home, write }) => {
      const store = { kind: "redis", node: "box" };
      await write("config.json", JSON.stringify({ gateway: { port: 18_801 }, store }));
      const plans = await planWorkers({ count: 3, home, env: {} });
      expect(plans.map(({ number, port }) => [number, port])).toEqual([
        [1, 18_800],
        [2, 18_802],
        [3, 18_803],
      ]);
      expect(plans.map(({ variables }) => variables["SERVICE_STORE_NODE"])).toEqual([
        "box-1",
        "box-2",
        "box-3",
      ]);
    }));

  test("runs the pico client in the first worker only", () =>
    withHome(async ({ path: home }) => {
      const env = { ...redis, SERVICE_GATEWAY_PORT: "9000" };
      const plans = await planWorkers({ count: 2, home, env });
      expect(plans.map(({ variables }) => variables)).toEqual([
        { SERVICE_STORE_NODE: `${hostname().slice(0, 60)}-1` },
        {
          SERVICE_STORE_NODE: `${hostname().slice(0, 60)}-2`,
          SERVICE_CHANNELS_PICO_CLIENT_ENABLED: "false",
        },
      ]);
    }));

  test.each([
    [{ port: 7_000 }, { SERVICE_LAUNCHER_PORT: "8000" }, [7_000, 7_001]],
    [{}, { SERVICE_LAUNCHER_PORT: "8000" }, [8_000, 8_001]],
    [{ port: 0 }, {}, [0, 0]],
  ])("prefers the option %j to the variable %j", (given, variables, expected) =>
    withHome(async ({ path: home, write }) => {
      await write("launcher-config.json", '{ "port": 9000 }');
      const env = { ...redis, SERVICE_GATEWAY_PORT: "0", ...variables };
      const plans = await planWorkers({ count: 2, home, env, ...given });
      expect(plans.map(({ port }) => port)).toEqual(expected);
    }),
  );

  test.each([
    [{}, 18_800, "WORKERS_WITHOUT_STORE"],
    [redis, 18_800, "WORKERS_WITHOUT_GATEWAY"],
    [{ ...redis, SERVICE_GATEWAY_PORT: "9000" }, 65_534, "WORKERS_PORTS"],
  ])("rejects %j with port %d", (env, port, code) =>
    withHome(async ({ path: home }) => {
      const planned = planWorkers({ count: 3, home, env, port });
      await expect(planned).rejects.toMatchObject({ code });
    }),
  );
});
