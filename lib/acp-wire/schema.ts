// The messages of version 1 of the Agent Client Protocol (agentclientprotocol.com), as they are
// read. Fields without use here are left out, null counts as absent, and what is unknown is kept
// out instead of being an error: agents add fields and kinds without a new version.
import * as z from "zod";
import { RpcError, rpcCodes } from "./connection.ts";

/** A field that may be absent or null. */
export const maybe = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => value ?? undefined);
/** A field whose wrong value counts as absent. */
const lenient = <T extends z.ZodType>(schema: T) => maybe(schema).catch(undefined);
/** A list without the items that have another form. */
const listOf = <T extends z.ZodType>(schema: T) =>
  z.array(z.unknown()).transform((items): z.output<T>[] =>
    items.flatMap((item) => {
      const read = schema.safeParse(item);
      return read.success ? [read.data] : [];
    }),
  );

const sessionId = z.string();

const textContent = z.object({ type: z.literal("text"), text: z.string() });
const imageContent = z.object({
  type: z.literal("image"),
  data: z.string(),
  mimeType: z.string(),
  uri: lenient(z.string()),
});
const audioContent = z.object({
  type: z.literal("audio"),
  data: z.string(),
  mimeType: z.string(),
});
const resourceLink = z.object({
  type: z.literal("resource_link"),
  uri: z.string(),
  name: z.string(),
  title: lenient(z.string()),
  mimeType: lenient(z.string()),
  size: lenient(z.number()),
});
const resource = z.object({
  type: z.literal("resource"),
  resource: z.object({
    uri: z.string(),
    mimeType: lenient(z.string()),
    text: lenient(z.string()),
    blob: lenient(z.string()),
  }),
});
/** Text, an image, sound, or a file as a link or as a whole. */
export const contentBlock = z.discriminatedUnion("type", [
  textContent,
  imageContent,
  audioContent,
  resourceLink,
  resource,
]);
export type ContentBlock = z.output<typeof contentBlock>;

/** Kinds of tool calls that Doorward has a name for. All others are `other`. */
export const toolKinds: ReadonlySet<string> = new Set([
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
]);

const toolCallContent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("content"), content: contentBlock }),
  z.object({
    type: z.literal("diff"),
    path: z.string(),
    oldText: lenient(z.string()),
    newText: z.string(),
  }),
  z.object({ type: z.literal("terminal"), terminalId: z.string() }),
]);
export type ToolCallContent = z.output<typeof toolCallContent>;

/** A call, or what changed about it: a field that is present replaces the earlier one. */
const toolCallUpdate = z.object({
  toolCallId: z.string(),
  title: lenient(z.string()),
  kind: lenient(z.string()),
  status: lenient(z.enum(["pending", "in_progress", "completed", "failed"])),
  content: lenient(listOf(toolCallContent)),
  locations: lenient(listOf(z.object({ path: z.string(), line: lenient(z.int()) }))),
  rawInput: maybe(z.unknown()),
  rawOutput: maybe(z.unknown()),
});
export type ToolCallUpdate = z.output<typeof toolCallUpdate>;

const planEntry = z.object({
  content: z.string(),
  priority: lenient(z.enum(["high", "medium", "low"])),
  status: lenient(z.enum(["pending", "in_progress", "completed"])),
});
export type PlanEntry = z.output<typeof planEntry>;

const availableCommand = z.object({
  name: z.string(),
  description: z.string().catch(""),
  input: lenient(z.object({ hint: z.string().catch("") })),
});
export type AvailableCommand = z.output<typeof availableCommand>;

const configValue = z.object({ value: z.string(), name: z.string() });
const configOption = z.object({
  id: z.string(),
  name: z.string().catch(""),
  category: lenient(z.string()),
  currentValue: lenient(z.string()),
  /** Values, or groups of them. */
  options: lenient(listOf(z.union([configValue, z.object({ options: listOf(configValue) })]))),
});
export type ConfigOption = z.output<typeof configOption>;

const chunk = { content: contentBlock, messageId: lenient(z.string()) };
const updates = {
  agent_message_chunk: z.object(chunk),
  agent_thought_chunk: z.object(chunk),
  user_message_chunk: z.object(chunk),
  tool_call: toolCallUpdate,
  tool_call_update: toolCallUpdate,
  plan: z.object({ entries: listOf(planEntry) }),
  available_commands_update: z.object({ availableCommands: listOf(availableCommand) }),
  current_mode_update: z.object({ currentModeId: z.string() }),
  config_option_update: z.object({ configOptions: listOf(configOption) }),
  session_info_update: z.object({ title: lenient(z.string()) }),
  usage_update: z.object({ used: z.number(), size: z.number() }),
};
type Updates = typeof updates;
/** An update of a session: its kind and its fields. */
export type SessionUpdate = {
  [K in keyof Updates]: { readonly kind: K; readonly value: z.output<Updates[K]> };
}[keyof Updates];

const notification = z.object({
  sessionId,
  update: z.looseObject({ sessionUpdate: z.string() }),
});

/**
 * Reads the parameters of `session/update`.
 *
 * @returns The session and the update; no update for a kind that is unknown here.
 * @throws ZodError if a field has the wrong form.
 */
export function readSessionUpdate(params: unknown): {
  readonly sessionId: string;
  readonly update: SessionUpdate | undefined;
} {
  const { sessionId, update } = notification.parse(params);
  const kind = update.sessionUpdate;
  if (!Object.hasOwn(updates, kind)) return { sessionId, update: undefined };
  const value = updates[kind as keyof Updates].parse(update);
  return { sessionId, update: { kind, value } as SessionUpdate };
}

const flag = z.boolean().catch(false);
/** A capability that is an object if present. */
export const present = z
  .unknown()
  .optional()
  .transform((value) => typeof value === "object" && value !== null);
const authMethod = z.object({
  id: z.string(),
  name: z.string().catch(""),
  description: lenient(z.string()),
});
export type AuthMethod = z.output<typeof authMethod>;
const implementation = z.object({
  name: z.string(),
  title: lenient(z.string()),
  version: lenient(z.string()),
});

export const initializeResult = z.object({
  protocolVersion: z.number(),
  agentInfo: lenient(implementation),
  authMethods: listOf(authMethod).catch([]),
  agentCapabilities: z
    .object({
      loadSession: flag,
      promptCapabilities: z.object({ image: flag }).catch({ image: false }),
      sessionCapabilities: z.object({ resume: present }).catch({ resume: false }),
    })
    .catch({
      loadSession: false,
      promptCapabilities: { image: false },
      sessionCapabilities: { resume: false },
    }),
});
export type InitializeResult = z.output<typeof initializeResult>;

const sessionMode = z.object({ id: z.string(), name: z.string().catch("") });
const modeState = z.object({ currentModeId: z.string(), availableModes: listOf(sessionMode) });
export const sessionResult = z
  .object({ modes: lenient(modeState), configOptions: lenient(listOf(configOption)) })
  .catch({ modes: undefined, configOptions: undefined });
export type SessionResult = z.output<typeof sessionResult>;
export const newSessionResult = z.object({
  sessionId,
  modes: lenient(modeState),
  configOptions: lenient(listOf(configOption)),
});

/** Tokens of a turn; not part of the published schema, but sent by agents. */
const usage = z.object({
  inputTokens: lenient(z.number()),
  outputTokens: lenient(z.number()),
  cachedReadTokens: lenient(z.number()),
});
export const promptResult = z.object({ stopReason: z.string(), usage: lenient(usage) });
export type PromptResult = z.output<typeof promptResult>;

const permissionOption = z.object({ optionId: z.string(), name: z.string(), kind: z.string() });
export type PermissionOption = z.output<typeof permissionOption>;
export const permissionRequest = z.object({
  sessionId,
  toolCall: toolCallUpdate,
  options: listOf(permissionOption),
});
export type PermissionRequest = z.output<typeof permissionRequest>;
/** The reply to a permission request. */
export const permissionResult = z.object({
  outcome: z.discriminatedUnion("outcome", [
    z.object({ outcome: z.literal("cancelled") }),
    z.object({ outcome: z.literal("selected"), optionId: z.string() }),
  ]),
});
export type PermissionResult = z.output<typeof permissionResult>;

export const elicitationRequest = z.object({
  sessionId: lenient(sessionId),
  mode: z.string().catch(""),
  message: z.string(),
  requestedSchema: lenient(z.record(z.string(), z.unknown())),
  elicitationId: lenient(z.string()),
  url: lenient(z.string()),
});
export type ElicitationRequest = z.output<typeof elicitationRequest>;
export const elicitationComplete = z.object({ elicitationId: z.string() });
export type ElicitationResult =
  | { readonly action: "accept"; readonly content?: Readonly<Record<string, unknown>> }
  | { readonly action: "decline" | "cancel" };

/**
 * Reads the parameters of a request.
 *
 * @throws RpcError that names the field, for the reply.
 */
export function readParams<T extends z.ZodType>(schema: T, params: unknown): z.output<T> {
  const result = schema.safeParse(params ?? {});
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join(".") || "params";
  throw new RpcError(rpcCodes.invalidParams, `"${where}": ${issue?.message ?? "invalid"}`);
}
