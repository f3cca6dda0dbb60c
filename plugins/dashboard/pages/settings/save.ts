// Sends changed settings, and asks for a token first where the server requires one.
import type { SettingsChangedView, SettingsSectionView } from "../../shared/views.ts";
import { askToken } from "../frame/dialogs.ts";
import type { ApiError, ApiResult } from "../live/api.ts";
import { requestAsOwner } from "../live/owner.ts";
import { guardedFields, originOf } from "../../shared/token-rules.ts";
import { files } from "./form.ts";

type Patch = Readonly<Record<string, unknown>>;
type Saved = ApiResult<SettingsChangedView>;

/** Errors of the token keep the dialog open; others concern the settings. */
const endsOn = ({ status, code }: ApiError): boolean => status !== 429 && code !== "invalid_token";

/**
 * Saves changed settings of one section.
 *
 * @param names - Names of the changed settings by key, for the dialog.
 * @returns The result, or undefined if the user cancels.
 */
export async function saveSection(
  { section, etag, value }: SettingsSectionView,
  patch: Patch,
  names: Readonly<Record<string, string>>,
): Promise<Saved | undefined> {
  const path = files[section]?.path ?? "";
  const send = (extra: object): Promise<Saved> =>
    requestAsOwner("PUT", path, { ...patch, ...extra }, etag);
  const guarded = Object.keys(patch).filter((key) => guardedFields.has(key));
  if (guarded.length > 0) {
    const list = guarded.map((key) => names[key] ?? key).join(", ");
    return askToken({
      title: "Save settings",
      text: `These settings control access, so they require the launcher token: ${list}.`,
      verb: "Save",
      send: (current) => send({ current }),
      endsOn,
    });
  }
  const { url: oldUrl } = (value ?? {}) as { url?: unknown };
  const { url: newUrl } = patch;
  const isRemote = section === "channels.pico_client" && typeof newUrl === "string";
  if (isRemote && originOf(newUrl) !== originOf(oldUrl)) {
    return askToken({
      title: "Change remote server",
      text: "The remote token will be sent to a different server. Enter the token to confirm.",
      verb: "Save",
      label: "Remote token",
      send: (token) => send({ token }),
      endsOn,
    });
  }
  return send({});
}

/** Says what was saved and what takes effect later. */
export function savedText(count: number, afterRestart: readonly string[]): string {
  const saved = count === 1 ? "1 setting saved" : `${count} settings saved`;
  if (afterRestart.length === 0) return saved;
  const verb = afterRestart.length === 1 ? "takes" : "take";
  return `${saved}. ${afterRestart.join(", ")} ${verb} effect after a restart.`;
}
