import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { homeOf } from "../../bin/environment.ts";

describe("homeOf", () => {
  test.each([
    ["~/bot", "~"],
    ["$HOME/bot", "variable"],
    ["${HOME}/bot", "variable"],
    ["/srv/$USER", "variable"],
    ["%USERPROFILE%", "variable"],
    ['"/srv/bot"', "quotes"],
    ["'/srv/bot'", "quotes"],
    ["\u201c/srv/bot\u201d", "quotes"],
    ["/srv/bot'", "quotes"],
  ])("refuses %s", (folder, problem) => {
    expect(() => homeOf({ SERVICE_HOME: folder })).toThrow(
      expect.objectContaining({ message: expect.stringContaining(problem) }),
    );
  });

  test.each(["/srv/bot", "bot", " /srv/bot ", "/srv/it's", "/srv/a$", "/srv/50%"])(
    "accepts %j",
    (folder) => {
      expect(homeOf({ SERVICE_HOME: folder })).toBe(resolve(folder.trim()));
    },
  );
});
