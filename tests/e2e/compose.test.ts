// Starts the launcher with the variables of docs/deploy/compose.open-webui.yml.
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { startLauncher } from "./launcher.ts";

const file = new URL("../../docs/deploy/compose.open-webui.yml", import.meta.url);
const token = "a-token-of-open-webui-0123456789";

interface Compose {
  readonly services: Readonly<Record<string, { readonly environment: Record<string, string> }>>;
}

describe("docs/deploy/compose.open-webui.yml", () => {
  test("lets Open WebUI reach the application under its host name", async () => {
    const { services } = parse(await readFile(file, "utf8")) as Compose;
    const { environment } = services["doorward"]!;
    const { OPENAI_API_BASE_URL: base } = services["open-webui"]!.environment;
    await using running = await startLauncher({
      args: ["-console", "-no-browser", "-port", "0", "-public"],
      env: { ...environment, SERVICE_CHANNELS_OPENAI_TOKEN: token },
    });
    const { host, pathname } = new URL(base!);
    const port = Number(running.base.port);
    const status = (headers: Record<string, string>): Promise<number | undefined> =>
      new Promise((done, failed) => {
        request(
          { host: "127.0.0.1", port, path: `${pathname}/models`, headers: { host, ...headers } },
          (response) => done(response.resume().statusCode),
        )
          .once("error", failed)
          .end();
      });
    expect(await status({ authorization: `Bearer ${token}` })).toBe(200);
    expect(await status({ authorization: "Bearer wrong" })).toBe(401);
  });
});
