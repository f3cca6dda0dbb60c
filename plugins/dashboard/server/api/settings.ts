/** Endpoints that read and change settings. @module */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { codeOf } from "../../../../kernel/index.ts";
import type { Settings, SettingsSection } from "../../../settings/index.ts";
import { verifyToken, toForbidden, requireTokenConfirmation } from "../auth/credentials.ts";
import { parseBody, settingsBody, requestState } from "../request.ts";
import { guardedFields, originOf } from "../../shared/token-rules.ts";
import type { DashboardContext, ServiceContext, SiteContext } from "../context.ts";
import type { ProtocolView } from "../../shared/protocols.ts";
import { refuse, type HttpError } from "../errors.ts";
import type { SettingsSectionView, SettingsView } from "../../shared/views.ts";

/** Path to section. Other sections cannot be changed over HTTP. */
const sectionPaths = {
  "/api/channels/ag_ui": "channels.ag_ui",
  "/api/channels/ai_sdk": "channels.ai_sdk",
  "/api/channels/openai": "channels.openai",
  "/api/channels/pico": "channels.pico",
  "/api/channels/pico_client": "channels.pico_client",
  "/api/launcher": "launcher",
  "/api/push": "push",
} as const;

/** Sections on the page of settings. */
const shownSections = new Set(["store", ...Object.values(sectionPaths)]);
/** Error of a channel that was turned on without a token -> the token. */
const missingTokens: Readonly<Record<string, string>> = {
  PICO_TOKEN_MISSING: "pico",
  AG_UI_TOKEN_MISSING: "ag_ui",
  AI_SDK_TOKEN_MISSING: "ai_sdk",
  OPENAI_TOKEN_MISSING: "openai",
};

/** @returns All settings sections; an empty list in a deployment without settings. */
export const sectionsOf = async ({ settings }: ServiceContext): Promise<SettingsSection[]> =>
  (await settings?.describe()) ?? [];

type SettingsPatch = Record<string, unknown>;

const variableOf = (brand: string, section: string, field: string): string =>
  `${brand}_${section.replaceAll(".", "_")}_${field}`.toUpperCase();

/** @returns The etag with which pages can change `enabled`, or the variable that prevents it. */
export function enabledAccess(
  { brand }: Pick<SiteContext, "brand">,
  found: SettingsSection | undefined,
): Pick<ProtocolView, "etag" | "enabledManagedBy"> {
  if (!found) return {};
  const { section, etag, managedByEnv } = found;
  if (managedByEnv.includes("enabled"))
    return { enabledManagedBy: variableOf(brand, section, "enabled") };
  return etag === "" ? {} : { etag };
}

function viewOf(brand: string, settings: SettingsSection): SettingsSectionView {
  const { section, schema, value, managedByEnv, managedByFlag, etag, problem } = settings;
  const { properties = {} } = schema as { properties?: Record<string, { editable?: boolean }> };
  const editable = Object.keys(properties).filter((key) => properties[key]?.editable === true);
  return {
    section,
    schema,
    value,
    etag,
    editable: editable.filter(
      (key) => !managedByEnv.includes(key) && !Object.hasOwn(managedByFlag, key),
    ),
    managedByEnv: Object.fromEntries(
      managedByEnv.map((field) => [field, variableOf(brand, section, field)]),
    ),
    managedByFlag,
    ...(problem !== undefined && { problem }),
  };
}

/** @returns The shown sections, for the page and for `GET /api/settings`. */
export async function settingsView({
  services,
  site,
}: Pick<DashboardContext, "services" | "site">): Promise<SettingsView> {
  const all = await sectionsOf(services);
  const shown = all.filter(({ section }) => shownSections.has(section));
  return { sections: shown.map((section) => viewOf(site.brand, section)) };
}

/**
 * Adds `GET /api/settings` and a `PUT` for each section. A `PUT` carries the changed fields, and
 * `current` or `token` if the change needs a confirmation.
 */
export function settingsRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get("/api/settings", async (_request, reply) => reply.send(await settingsView(context)));
  for (const [path, section] of Object.entries(sectionPaths)) {
    app.put(path, async (request, reply) =>
      reply.send(await changeSettings(context, request, section)),
    );
  }
}

async function changeSettings(
  context: DashboardContext,
  request: FastifyRequest,
  section: string,
): ReturnType<Settings["update"]> {
  const { current, ...fields } = parseBody(settingsBody, request);
  const { settings } = context.services;
  if (section === "channels.pico" && !context.services.picoServer)
    throw missingSectionError(section);
  if (!settings)
    throw refuse("field_not_editable", {
      message: "Settings cannot be changed in this deployment.",
    });
  // If the files cannot be read, the update rejects with the reason.
  const all = await settings.describe().catch(() => undefined);
  const known = all?.find((each) => each.section === section);
  if (all && !known) throw missingSectionError(section);
  const etag = request.headers["if-match"];
  if (etag === undefined) throw refuse("etag_required");
  const patch =
    section === "channels.pico_client"
      ? await confirmTokenDestination(context, request, known?.value, fields)
      : fields;
  if (Object.keys(patch).some((key) => guardedFields.has(key)))
    await requireTokenConfirmation(context, request, current);
  const update = () => settings.update(section, patch, etag.replace(/^(?:W\/)?"(.*)"$/, "$1"));
  return update().catch(async (error: unknown) => {
    // The rest of the change is valid by then, so generate the missing token and repeat.
    const name = missingTokens[codeOf(error)];
    if (name === undefined) throw error;
    await context.services.tokenSecrets.replace(name, {
      expect: context.auth.tokens.info(name).version,
    });
    context.runtime.log.info({ name }, `a token was generated and stored: ${name}`);
    return update();
  });
}

const missingSectionError = (section: string): HttpError =>
  refuse("not_found", { message: `The section "${section}" is not in use.` });

/**
 * Requires the remote token before the client sends it to another origin: a stolen session must not
 * redirect a token that it does not know.
 *
 * @throws token_required, invalid_token (403)
 */
async function confirmTokenDestination(
  context: DashboardContext,
  request: FastifyRequest,
  value: unknown,
  fields: SettingsPatch,
): Promise<SettingsPatch> {
  const { token, ...patch } = fields;
  const { url: before } = (value ?? {}) as { url?: unknown };
  const changesOrigin = "url" in patch && originOf(patch["url"]) !== originOf(before);
  if (!changesOrigin || context.auth.tokens.info("pico_client").source === "none") return patch;
  if (typeof token !== "string" || token.trim() === "") throw refuse("token_required");
  await verifyToken(context, requestState(request).peer, token, {
    via: "current",
    names: ["pico_client"],
  }).catch(toForbidden);
  return patch;
}
