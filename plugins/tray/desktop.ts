type Environment = Readonly<Record<string, string | undefined>>;

/** Why there is no desktop here, when there is none. */
export function missingDesktopReason(
  env: Environment,
  platform: NodeJS.Platform,
): string | undefined {
  if (env["SSH_CONNECTION"] ?? env["SSH_TTY"]) return "this is a terminal on another machine";
  if (platform === "darwin" || platform === "win32") return undefined;
  if (env["DISPLAY"] || env["WAYLAND_DISPLAY"]) return undefined;
  return "there is no display: DISPLAY and WAYLAND_DISPLAY are not set";
}
