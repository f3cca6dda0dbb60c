// Sample API responses of a running launcher.
import { launcherSchema } from "../../plugins/http/config.ts";
import { homeStoreSchema } from "../../plugins/conversations/config.ts";
import { openaiSchema } from "../../plugins/protocols/openai/config.ts";
import { picoClientSchema } from "../../plugins/pico-client/config.ts";
import { picoSchema } from "../../plugins/pico-server/config.ts";
import { dashboardSchema } from "../../plugins/dashboard/server/config.ts";
import { z } from "zod";
import type {
  ConversationsView,
  ConversationSummary,
  Turn,
} from "../../plugins/dashboard/shared/conversation-views.ts";
import type {
  CheckView,
  ConnectionView,
  LogLineView,
  SessionView,
  SettingsSectionView,
  TokenRow,
} from "../../plugins/dashboard/shared/views.ts";
import { figures, running } from "./sample.ts";

const { now } = running;
const minute = 60_000;
const day = 24 * 60 * minute;
const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const safari =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) Version/18.5 Mobile/15E148 Safari/604.1";

export const tokens: readonly TokenRow[] = [
  {
    name: "launcher",
    source: "config",
    managedByEnv: false,
    variable: "SERVICE_LAUNCHER_TOKEN",
    changedAt: now - 93 * day,
    others: [],
  },
  {
    name: "pico",
    source: "security",
    managedByEnv: false,
    variable: "SERVICE_CHANNELS_PICO_TOKEN",
    changedAt: now - 3 * day,
    concern: "it has fewer than 16 characters",
    others: [{ source: "config", same: false }],
  },
  {
    name: "pico_client",
    source: "env",
    managedByEnv: true,
    variable: "SERVICE_CHANNELS_PICO_CLIENT_TOKEN",
    others: [],
  },
];

export const sessions: readonly SessionView[] = [
  {
    id: "0a1b2c3d",
    createdAt: now - 2 * minute,
    lastUsedAt: now,
    expiresAt: now + 7 * day,
    address: "127.0.0.1",
    userAgent: firefox,
    current: true,
  },
  {
    id: "4e5f6071",
    createdAt: now - 26 * 60 * minute,
    lastUsedAt: now - 40 * minute,
    expiresAt: now + 6 * day,
    address: "2001:db8:85a3::8a2e:370:7334",
    userAgent: safari,
    current: false,
  },
  {
    id: "8293a4b5",
    createdAt: now - 3 * day,
    lastUsedAt: now - 2 * day,
    expiresAt: now + 4 * day,
    address: "192.168.178.31",
    userAgent: "",
    current: false,
  },
];

export const connection = (at: number): ConnectionView => ({
  id: `c${at}`,
  session: ["kitchen", "laptop", "garden"][at] ?? `robot-${at}`,
  ...(at === 1 && { title: "Do the roses need water?" }),
  address: `192.168.178.${20 + (at % 200)}`,
  method: (["header", "subprotocol", "dashboard"] as const)[at % 3]!,
  user: at % 3 === 2 ? "host:ann" : "token:pico",
  ...(at % 3 === 2 && { userName: "Ann Example" }),
  ...(at % 3 === 1 && { origin: "https://home.example.org", userAgent: firefox }),
  since: now - (200 - at) * minute,
  messagesIn: 1284 * (at + 1),
  messagesOut: 31 * at,
  queuedBytes: at === 2 ? 81_920 : 0,
  lastHeardAt: now - at * 3000,
});

export const lines: readonly LogLineView[] = Array.from({ length: 40 }, (_, at): LogLineView => ({
  at: now - (40 - at) * 4321,
  level: at % 13 === 5 ? "warn" : at % 17 === 9 ? "error" : "info",
  text: ["connection opened", "connection closed", "signed in", "a request was refused"][at % 4]!,
  fields: {
    ip: "192.168.178.31",
    ...(at % 4 < 2 ? { session: "kitchen", connection: `c${at}` } : { via: "form" }),
  },
}));

export const checks: readonly CheckView[] = [
  {
    id: "token-configured",
    title: "The channel token is configured",
    result: "ok",
    reason: "It comes from .security.yml.",
  },
  {
    id: "header-form",
    title: "The header has the form `Bearer <token>`",
    result: "ok",
    reason: "A handshake with it works.",
  },
  {
    id: "token-query",
    title: "Token in URL",
    result: "ok",
    reason: "allow_token_query is off.",
  },
  {
    id: "token-strength",
    title: "Tokens are strong",
    result: "warning",
    reason: "The channel token has fewer than 16 characters.",
    fix: "doorward token rotate pico",
  },
  {
    id: "file-modes",
    title: "Only the owner reads the secret files",
    result: "failed",
    reason: ".security.yml is readable by all users.",
    fix: "chmod 600 ~/.service/.security.yml",
  },
];

const schemaOf = (schema: z.ZodType): object =>
  z.toJSONSchema(schema, { target: "draft-7", io: "input", unrepresentable: "any" });
const pico = picoSchema.parse({ enabled: true });

export const sections: readonly SettingsSectionView[] = [
  {
    section: "channels.pico",
    schema: schemaOf(picoSchema),
    value: pico,
    etag: '"p1"',
    managedByFlag: {},
    managedByEnv: { max_connections: "SERVICE_CHANNELS_PICO_MAX_CONNECTIONS" },
    editable: Object.keys(pico).filter((key) => key !== "max_connections"),
  },
  {
    section: "channels.pico_client",
    etag: '"c1"',
    managedByEnv: {},
    managedByFlag: {},
    editable: ["enabled", "url"],
    value: picoClientSchema.parse({ enabled: true, url: "wss://other.example.org/pico" }),
    schema: schemaOf(picoClientSchema),
  },
  {
    section: "channels.openai",
    etag: '"o1"',
    managedByEnv: {},
    managedByFlag: {},
    editable: ["enabled"],
    value: openaiSchema.parse({}),
    schema: schemaOf(openaiSchema),
  },
  {
    section: "store",
    etag: '"s1"',
    managedByEnv: {},
    managedByFlag: {},
    editable: [],
    value: homeStoreSchema.parse({}),
    schema: schemaOf(homeStoreSchema),
  },
  {
    section: "launcher",
    schema: schemaOf(z.strictObject({ ...launcherSchema.shape, ...dashboardSchema.shape })),
    etag: '"l1"',
    managedByEnv: {},
    managedByFlag: { port: "-port" },
    value: {
      ...launcherSchema.parse({
        tls: { cert: "/etc/doorward/fullchain.pem", key: "/etc/doorward/privkey.pem" },
      }),
      ...dashboardSchema.parse({ allowed_hosts: ["door.example.org"] }),
    },
    editable: [
      "allowed_hosts",
      "allowed_origins",
      "keep_sign_ins",
      "login_attempts_per_minute",
      "session_days",
    ],
  },
];

/** Responses of the API of a running launcher. */
const talk = (id: string, title: string, minutes: number): ConversationSummary => ({
  id,
  channel: "pico",
  session: `chat-${id}`,
  title,
  renamed: false,
  createdAt: now - minutes * minute - day,
  usedAt: now - minutes * minute,
  turns: 4,
  preview: "In the kitchen, on the second shelf.",
});

export const conversations: readonly ConversationSummary[] = [
  talk("c1", "Where is the blue teapot?", 2),
  talk("c2", "Reorder coffee filters when fewer than twenty of them are left in the drawer", 90),
  talk("c3", "Good morning", 3 * 24 * 60),
];

export const turns: readonly Turn[] = [
  {
    id: "q1",
    seq: 1,
    role: "user",
    content: "Where is the blue teapot?",
    sender: { id: "owner" },
    at: now - 4 * minute,
  },
  {
    id: "t1",
    seq: 2,
    role: "assistant",
    kind: "thought",
    content: "They ask about the teapot.",
    at: now - 4 * minute,
  },
  {
    id: "a1",
    seq: 3,
    role: "assistant",
    content: "In the kitchen, on the second shelf.",
    model: "m1",
    inReplyTo: "q1",
    at: now - 3 * minute,
  },
  {
    id: "q2",
    seq: 4,
    role: "user",
    content: "Thanks",
    sender: { id: "host:ann", name: "Ann" },
    at: now - 2 * minute,
  },
];

const store = {
  kind: "sqlite",
  state: "up",
  since: now - day,
  path: "/srv/doorward/state/conversations.db",
  bytes: 81_920,
  conversations: 3,
  waitingBytes: 0,
  searches: true,
} as const;

export const conversationList = (searches = true): ConversationsView => ({
  conversations,
  store: { ...store, searches },
});

export const sampleAnswers: Readonly<Record<string, object>> = {
  "GET /api/questions": { questions: [] },
  "GET /api/channels": { channels: [] },
  "GET /api/tokens": { tokens },
  "GET /api/sessions": { sessions },
  "GET /api/connections": { total: 10_000, connections: [0, 1, 2, 3, 4, 5].map(connection) },
  "GET /api/figures": figures,
  "GET /api/requests": { requests: [] },
  "GET /api/conversations": conversationList(),
  "GET /api/conversations/c1": { conversation: conversations[0]!, turns, before: "e:1" },
  "GET /api/log": { lines, truncated: false },
  "GET /api/settings": { sections },
  "POST /api/doctor": { checks },
};
