import type { TrayBackend, TrayBackendOptions } from "../view.ts";
import { openScript, scriptFile } from "./script.ts";

/** The menu bar of macOS, by what the system ships. */
export const openMacos = (options: TrayBackendOptions): Promise<TrayBackend> =>
  openScript(
    {
      command: ["/usr/bin/osascript", "-l", "JavaScript", scriptFile("menu-bar.js")],
      iconSize: 48,
    },
    options,
  );
