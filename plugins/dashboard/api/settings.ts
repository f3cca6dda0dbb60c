import type { FastifyInstance, FastifyRequest } from "fastify";
import { codeOf } from "../../../kernel/index.ts";
import type { Settings, SettingsSection } from "../../settings/index.ts";
import { judgeToken } from "../access.ts";
import { API_BODY, parseBody, settingsBody } from "../bodies.ts";
import { guardedFields, originOf } from "../browser/guarded.ts";
import { sectionsOf, seen, type Door } from "../door.ts";
import { Refusal } from "../errors.ts";
import { forbidden, requireCurrent } from "./current.ts";
import type { SettingsSectionView } from "./views.ts";

/** Address -> section. What is not here cannot be changed over HTTP. */
const SECTIONS = {
  "/api/channels/pico": "channels.pico",
  "/api/channels/pico_client": "channels.pico_client",
  "/api/launcher": "launcher",
} as const;

type Patch = Record<string, unknown>;

function viewOf(door: Door, from: SettingsSection): SettingsSectionView {
  const { section, schema, value, managedByEnv, managedByFlag, etag, problem } = from;
  const { properties = {} } = schema as { properties?: Record<string, { editable?: boolean }> };
  const variable = (field: string): string =>
    `${door.brand}_${section.replaceAll(".", "_")}_${field}`.toUpperCase();
  const editable = Object.keys(properties).filter((key) => properties[key]?.editable === true);
  return {
    section,
    schema,
    value,
    etag,
    editable: editable.filter(
      (key) => !managedByEnv.includes(key) && !Object.hasOwn(managedByFlag, key),
    ),
    managedByEnv: Object.fromEntries(managedByEnv.map((field) => [field, variable(field)])),
    managedByFlag,
    ...(problem === undefined ? {} : { problem }),
  };
}

/** `GET /api/settings`, and `PUT` of each section: the changed fields, beside them `current` or `token` where asked. */
export function settingsRoutes(app: FastifyInstance, door: Door): void {
  app.get("/api/settings", async (_request, reply) => {
    const all = await sectionsOf(door);
    const shown = all.filter(({ section }) =>
      (Object.values(SECTIONS) as string[]).includes(section),
    );
    return reply
      .header("cache-control", "no-store")
      .send({ sections: shown.map((section) => viewOf(door, section)) });
  });
  for (const [path, section] of Object.entries(SECTIONS)) {
    app.put(path, { bodyLimit: API_BODY }, async (request, reply) =>
      reply.header("cache-control", "no-store").send(await change(door, request, section)),
    );
  }
}

async function change(
  door: Door,
  request: FastifyRequest,
  section: string,
): ReturnType<Settings["update"]> {
  const { current, ...fields } = parseBody(settingsBody, request);
  const { settings } = door;
  if (section === "channels.pico" && !door.picoServer) throw absent(section);
  if (!settings)
    throw new Refusal("field_not_editable", {
      message: "Settings cannot be changed in this deployment.",
    });
  // Where the files cannot be read the update says so.
  const all = await settings.describe().catch(() => undefined);
  const known = all?.find((each) => each.section === section);
  if (all && !known) throw absent(section);
  const etag = request.headers["if-match"];
  if (etag === undefined) throw new Refusal("etag_required");
  const patch =
    section === "channels.pico_client"
      ? await withoutToken(door, request, known?.value, fields)
      : fields;
  if (Object.keys(patch).some((key) => guardedFields.has(key)))
    await requireCurrent(door, request, current);
  const update = () => settings.update(section, patch, etag.replace(/^(?:W\/)?"(.*)"$/, "$1"));
  return update().catch(async (error: unknown) => {
    // The one thing it lacked: everything else about the change is found good by then.
    if (codeOf(error) !== "PICO_TOKEN_MISSING") throw error;
    await door.tokenSecrets.replace("pico", { expect: door.tokens.info("pico").version });
    door.log.info({}, "a pico token was made and stored");
    return update();
  });
}

const absent = (section: string): Refusal =>
  new Refusal("not_found", { message: `This service was started without "${section}".` });

/** The stored token goes to another origin only when whoever asks knows it: a stolen session must not send it away. */
async function withoutToken(
  door: Door,
  request: FastifyRequest,
  value: unknown,
  fields: Patch,
): Promise<Patch> {
  const { token, ...patch } = fields;
  const { url: before } = (value ?? {}) as { url?: unknown };
  const goesElsewhere = "url" in patch && originOf(patch["url"]) !== originOf(before);
  if (!goesElsewhere || door.tokens.info("pico_client").source === "none") return patch;
  if (typeof token !== "string" || token.trim() === "") throw new Refusal("token_required");
  await judgeToken(door, seen(request).peer, token, {
    via: "current",
    names: ["pico_client"],
  }).catch(forbidden);
  return patch;
}
