// Tests that the built launcher takes files: its bundle differs from the modules of other tests.
import { expect, test } from "vitest";
import { startLauncher } from "./launcher.ts";

const token = "0123456789abcdef".repeat(4);

test("takes the file of a form at /v1/files", async () => {
  await using launcher = await startLauncher({
    env: {
      SERVICE_LAUNCHER_TOKEN: token,
      SERVICE_CHANNELS_OPENAI_ENABLED: "true",
      SERVICE_CHANNELS_OPENAI_TOKEN: token,
    },
  });
  const headers = { authorization: `Bearer ${token}` };
  const body = new FormData();
  body.set("purpose", "user_data");
  body.set("file", new Blob(["some notes"]), "notes.txt");
  const sent = await fetch(new URL("/v1/files", launcher.base), { method: "POST", headers, body });
  const file = (await sent.json()) as { id: string };
  expect(file).toMatchObject({ object: "file", bytes: 10, filename: "notes.txt" });
  const content = await fetch(new URL(`/v1/files/${file.id}/content`, launcher.base), { headers });
  expect(await content.text()).toBe("some notes");
});
