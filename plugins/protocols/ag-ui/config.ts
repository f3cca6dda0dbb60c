// The section `channels.ag_ui`.
import * as z from "zod";
import { commonSettings, disconnectSetting } from "../config.ts";

/** The schema of `channels.ag_ui`. The token store manages the token. */
export const agUiSchema = z.strictObject({
  ...commonSettings,
  // A page that is loaded again closes its connection too.
  disconnect: disconnectSetting("keep"),
});

/** The validated section `channels.ag_ui`. */
export type AgUiConfig = z.output<typeof agUiSchema>;
/** The section as users write it. */
export type AgUiInput = z.input<typeof agUiSchema>;
