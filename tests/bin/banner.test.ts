import { expect, test } from "vitest";
import { banner, type BannerFacts } from "../../bin/banner.ts";
import { openBrowser } from "../../bin/desktop.ts";

const facts: BannerFacts = {
  version: "1.2.3",
  home: "/home/you/.service",
  addresses: [new URL("http://127.0.0.1:18800/")],
  state: "running",
  source: "env",
  link: "http://127.0.0.1:18800/?token=ott_x",
  opened: false,
  remote: false,
};

test("over ssh no browser is opened there: the link is printed, and how to reach it from one's own machine", async () => {
  const env = { SSH_CONNECTION: "10.0.0.1 50000 10.0.0.2 22", DISPLAY: ":0" };
  expect(await openBrowser(new URL(facts.link), env, "linux")).toBe(false);
  const text = banner({ ...facts, remote: true });
  expect(text).toMatch(/once, within 5 minutes:\n +http:\S+ott_x\n/);
  expect(text).toMatch(/ssh -L 18800:127\.0\.0\.1:18800 \S+@\S+/);
  expect(banner(facts)).not.toContain("ssh");
});

test("what is printed says where the token comes from, and what the first run asks for", () => {
  for (const [source, words] of [
    ["env", "SERVICE_LAUNCHER_TOKEN"],
    ["config", "launcher-config.json"],
    ["random", "generated"],
  ]) {
    expect(banner({ ...facts, source: source! })).toMatch(
      new RegExp(`Token .*${words}.*source: ${source}`),
    );
  }
  expect(banner({ ...facts, state: "setup" })).toContain("choose the token for this dashboard");
  expect(banner({ ...facts, opened: true })).toContain("your browser was opened");
});
