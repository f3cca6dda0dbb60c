// Opens the tray of the current platform.
import type { TrayBackend, TrayBackendOptions } from "../service.ts";

/** Rejects with a reason, in lower case and without a period, if there is no tray. */
export async function openBackend({
  platform,
  ...options
}: TrayBackendOptions & { platform: NodeJS.Platform }): Promise<TrayBackend> {
  if (platform === "darwin") return (await import("./script.ts")).openMacos(options);
  if (platform === "win32") return (await import("./script.ts")).openWindows(options);
  return (await import("./linux.ts")).openLinux(options);
}
