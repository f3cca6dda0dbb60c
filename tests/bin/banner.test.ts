import { expect, test } from "vitest";
import { banner, type BannerOptions } from "../../bin/banner.ts";
import { openBrowser } from "../../bin/desktop.ts";

const options: BannerOptions = {
  version: "1.2.3",
  home: "/home/you/.service",
  addresses: [new URL("http://127.0.0.1:18800/")],
  state: "running",
  source: "env",
  link: "http://127.0.0.1:18800/?token=ott_x",
  opened: false,
  remote: false,
};

test("prints the link and an ssh command in an SSH session", async () => {
  const env = { SSH_CONNECTION: "10.0.0.1 50000 10.0.0.2 22", DISPLAY: ":0" };
  expect(await openBrowser(new URL(options.link), env, "linux")).toBe(false);
  const text = banner({ ...options, remote: true });
  expect(text).toMatch(/valid once, for 5 minutes\):\n +http:\S+ott_x\n/);
  expect(text).toMatch(/ssh -L 18800:127\.0\.0\.1:18800 \S+@\S+/);
  expect(banner(options)).not.toContain("ssh");
});

test("names the source of the token and the setup step", () => {
  for (const [source, words] of [
    ["env", "SERVICE_LAUNCHER_TOKEN"],
    ["config", "launcher-config.json"],
    ["random", "generated"],
  ]) {
    expect(banner({ ...options, source: source! })).toMatch(
      new RegExp(`Token .*${words}.*source: ${source}`),
    );
  }
  expect(banner({ ...options, state: "setup" })).toContain("choose the token for this dashboard");
  expect(banner({ ...options, opened: true })).toContain("your browser was opened");
});

test("lists the protocols that are on", () => {
  const protocols = [{ title: "OpenAI API", url: "http://127.0.0.1:18800/v1" }];
  const text = banner({ ...options, protocols });
  expect(text).toMatch(/^ {2}OpenAI API http:\/\/127\.0\.0\.1:18800\/v1$/m);
  expect(banner(options)).not.toContain("OpenAI");
});

test("names what is wrong with environment variables", () => {
  const text = banner({ ...options, environmentProblems: ["the quotation marks of X"] });
  expect(text).toMatch(/^ {2}Warning {4}the quotation marks of X$/m);
  expect(banner(options)).not.toContain("Warning");
});
