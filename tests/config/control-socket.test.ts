import { describe, expect, test } from "vitest";
import { controlSocketPaths } from "../../config/control-socket.ts";

const long = `/srv/${"deep/".repeat(20)}door`;

describe("controlSocketPaths", () => {
  test("returns paths in the home", () => {
    expect(controlSocketPaths("/srv/door", {}, "linux")).toEqual({
      socket: "/srv/door/run/launcher.sock",
      note: "/srv/door/run/launcher.json",
    });
  });

  test("uses the runtime folder if the home path is too long", () => {
    const { socket, note } = controlSocketPaths(long, { XDG_RUNTIME_DIR: "/run/user/7" }, "linux");
    expect(socket).toMatch(/^\/run\/user\/7\/doorward-[0-9a-f]{16}\.sock$/);
    expect(note).toBe(`${long}/run/launcher.json`);
    expect(
      controlSocketPaths(`${long}2`, { XDG_RUNTIME_DIR: "/run/user/7" }, "linux").socket,
    ).not.toBe(socket);
  });

  test("returns no socket if every path is too long", () => {
    expect(controlSocketPaths(long, {}, "linux").socket).toBeUndefined();
    expect(controlSocketPaths(long, { XDG_RUNTIME_DIR: long }, "linux").socket).toBeUndefined();
  });

  test("returns a named pipe on Windows", () => {
    expect(controlSocketPaths("/srv/door", {}, "win32").socket).toMatch(
      /^\\\\\.\\pipe\\doorward-[0-9a-f]{16}$/,
    );
  });
});
