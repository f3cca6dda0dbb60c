import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { useDesk } from "./desk.ts";
import { sections } from "./sample-api.ts";

const desk = useDesk();
const form = (page: Page, name: string): Locator => page.getByRole("form", { name });
const save = (page: Page, name: string): Promise<void> =>
  form(page, name).getByRole("button", { name: "Save" }).click();

/** The answer of `GET /api/settings` with other values of a section. */
function changed(section: string, value: object, etag: string, problem?: string): object {
  return {
    sections: sections.map((each) =>
      each.section === section
        ? {
            ...each,
            value: { ...(each.value as object), ...value },
            etag,
            ...(problem && { problem }),
          }
        : each,
    ),
  };
}

test("fields come from the schema: defaults, units and limits; wrong values are said while typed", async () => {
  await desk.look("/settings", async (page) => {
    const pico = form(page, "Pico channel");
    expect(await pico.textContent()).toMatch(
      /Time between two pings to a client\. Default: 30 seconds\./,
    );
    await pico.getByLabel("Maximum message size").fill("67108864");
    await pico.getByText("bytes, 64 MiB").waitFor();
    await pico.getByLabel("Maximum message size").fill("12");
    await pico.getByText("At least 1024.").waitFor();
    await save(page, "Pico channel");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("channels-pico-max_payload");
    expect(desk.site.sent).toEqual([]);
  });
});

test("what the environment holds is read-only, with the variable", async () => {
  await desk.look("/settings", async (page) => {
    await form(page, "Pico channel").getByText("1 setting that cannot be changed here").click();
    await page
      .getByText("The environment variable SERVICE_CHANNELS_PICO_MAX_CONNECTIONS holds it.")
      .waitFor();
    expect(await page.getByLabel("Maximum connections").count()).toBe(0);
  });
});

test("what only a file or a flag of the command line can change is read-only, with the reason", async () => {
  await desk.look("/settings", async (page) => {
    const launcher = form(page, "Dashboard");
    await launcher.getByText("6 settings that cannot be changed here").click();
    await launcher.getByText("The launcher was started with -port, which holds it.").waitFor();
    expect(await launcher.getByText("Only launcher-config.json can change it.").count()).toBe(5);
  });
});

test("saving sends the changed fields alone, and says what acts now and what after a restart", async () => {
  desk.site.answer = () => {
    desk.site.views.set(
      "GET /api/settings",
      changed("channels.pico", { ping_interval: 15 }, '"p2"'),
    );
    return [200, { etag: '"p2"', now: ["ping_interval"], afterRestart: ["read_timeout"] }];
  };
  await desk.look("/settings", async (page) => {
    await page.getByLabel("Ping interval").fill("15");
    await save(page, "Pico channel");
    await page.getByText("In effect now: Ping interval. After a restart: Read timeout.").waitFor();
    expect(desk.bodies("/api/channels/pico")).toEqual([{ ping_interval: 15 }]);
    expect(desk.site.sent[0]?.headers["if-match"]).toBe('"p1"');
    expect(
      await form(page, "Pico channel").getByRole("button", { name: "Save" }).isDisabled(),
    ).toBe(true);
  });
});

test("what decides who gets in asks for the launcher token", async () => {
  desk.site.answer = ({ body }) =>
    body.includes('"current":"right"')
      ? [200, { etag: '"l2"', now: ["allowed_hosts"], afterRestart: [] }]
      : [403, { error: "invalid_token", message: "no" }];
  await desk.look("/settings", async (page) => {
    await page.getByLabel("Allowed host names").fill("door.example.org\nother.example.org\n");
    await save(page, "Dashboard");
    await page.getByLabel("Launcher token", { exact: true }).fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("That is not the launcher token.").waitFor();
    await page.getByLabel("Launcher token", { exact: true }).fill("right");
    await page.keyboard.press("Enter");
    await page.getByText("In effect now: Allowed host names.").waitFor();
    expect(desk.bodies("/api/launcher").at(-1)).toEqual({
      allowed_hosts: ["door.example.org", "other.example.org"],
      current: "right",
    });
  });
});

test.each([
  ["another server for the client", "wss://evil.example/pico"],
  ["the same one without encryption", "ws://other.example.org/pico"],
])("%s asks for the remote token", async (_, url) => {
  desk.site.answer = () => [200, { etag: '"c2"', now: ["url"], afterRestart: [] }];
  await desk.look("/settings", async (page) => {
    await page.getByLabel("Address", { exact: true }).fill(url);
    await save(page, "Pico client");
    await page.getByLabel("Remote token", { exact: true }).fill("remote");
    await page.keyboard.press("Enter");
    await page.getByText("In effect now: Address.").waitFor();
    expect(desk.bodies("/api/channels/pico_client")).toEqual([{ url, token: "remote" }]);
  });
});

test("when the file changed meanwhile both values are shown and nothing typed is lost", async () => {
  desk.site.answer = ({ headers }) => {
    if (headers["if-match"] === '"p9"') return [200, { etag: '"p10"', now: [], afterRestart: [] }];
    const theirs = changed("channels.pico", { ping_interval: 45, read_timeout: 90 }, '"p9"');
    desk.site.views.set("GET /api/settings", theirs);
    return [412, { error: "etag_mismatch", message: "changed" }];
  };
  await desk.look("/settings", async (page) => {
    await page.getByLabel("Ping interval").fill("15");
    await page.getByLabel("Write timeout").fill("50");
    await save(page, "Pico channel");
    await page.getByText("The file says 45 meanwhile; you typed 15.").waitFor();
    expect(await page.getByLabel("Ping interval").inputValue()).toBe("15");
    expect(await page.getByLabel("Read timeout").inputValue()).toBe("90");
    await page.getByRole("button", { name: "Take theirs" }).click();
    expect(await page.getByLabel("Ping interval").inputValue()).toBe("45");
    await save(page, "Pico channel");
    await expect
      .poll(() => desk.bodies("/api/channels/pico").at(-1))
      .toEqual({ write_timeout: 50 });
  });
});

test("an edit of the file by hand appears by itself, and one that is refused is said", async () => {
  await desk.look("/settings", async (page) => {
    desk.site.views.set(
      "GET /api/settings",
      changed("channels.pico", { ping_interval: 20 }, '"p3"'),
    );
    desk.site.emit("settings", { at: 1, section: "channels.pico", keys: ["ping_interval"] });
    await expect.poll(() => page.getByLabel("Ping interval").inputValue()).toBe("20");
    const problem = "session_days: expected a number";
    desk.site.views.set("GET /api/settings", changed("launcher", {}, '"l1"', problem));
    desk.site.emit("settings", { at: 2, section: "launcher", rejected: problem });
    await page.getByText("An edit of the file was not taken: session_days").waitFor();
  });
});

test("a refused value is said at its field", async () => {
  const refused = {
    error: "invalid_setting",
    field: "allowed_origins",
    message: "Expected an origin.",
  };
  desk.site.answer = () => [422, refused];
  await desk.look("/settings", async (page) => {
    await form(page, "Dashboard").getByLabel("Allowed origins").fill("https://a.example");
    await save(page, "Dashboard");
    await page.getByLabel("Launcher token", { exact: true }).fill("right");
    await page.keyboard.press("Enter");
    await page.getByText("Expected an origin.").waitFor();
    expect(
      await form(page, "Dashboard").getByLabel("Allowed origins").getAttribute("aria-invalid"),
    ).toBe("true");
    expect(await form(page, "Dashboard").getByLabel("Allowed origins").inputValue()).toBe(
      "https://a.example",
    );
  });
});
