import type { Face, FaceOptions } from "../view.ts";
import { openScript, scriptFile } from "./script.ts";

/** The menu bar of macOS, by what the system ships. */
export const openMacos = (options: FaceOptions): Promise<Face> =>
  openScript(
    {
      command: ["/usr/bin/osascript", "-l", "JavaScript", scriptFile("menu-bar.js")],
      iconSize: 48,
    },
    options,
  );
