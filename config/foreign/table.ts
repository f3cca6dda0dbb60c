// Keys and variables that PicoClaw reads and Doorward does not: its configuration schemas 0 to 3
// (up to 2026), and what to write instead. A key that a plugin of Doorward declares is Doorward's,
// whatever this table says.

export const product = "PicoClaw";

/** Key -> what to do instead; `""`: nothing, Doorward has no use for it. */
export type ForeignKeys = Readonly<Record<string, string>>;

const answers = 'The program named in "handler" answers messages.';
const addresses =
  'Doorward does not limit client addresses: use a firewall, or "host" in launcher-config.json.';
const access = 'Access depends on the channel token and "allow_origins".';

/** At the top of `config.json`. `channel_list` is explained entry by entry. */
export const configKeys: ForeignKeys = {
  version: "",
  build_info: "",
  agents: answers,
  bindings: answers,
  session: "",
  model_list: answers,
  providers: answers,
  tools: answers,
  hooks: answers,
  heartbeat: answers,
  devices: "",
  voice: "",
  isolation: "",
  events: "",
  evolution: "",
};

/** Fields of a channel that Doorward reads under the same name. */
export const sharedFields: Readonly<Record<string, readonly string[]>> = {
  pico: [
    "enabled",
    "allow_token_query",
    "allow_origins",
    "ping_interval",
    "read_timeout",
    "write_timeout",
    "max_connections",
  ],
  pico_client: ["enabled", "url"],
};

const channelFields: ForeignKeys = {
  type: "",
  allow_from: access,
  reasoning_channel_id: "",
  group_trigger: "",
  typing: "",
  placeholder: 'A program can send a message with "placeholder" itself.',
  streaming: "A program streams by updating a message; no setting is needed.",
};

/** Fields of the sections that both products have. `settings` of a channel is explained field by
 *  field. */
export const sectionKeys: Readonly<Record<string, ForeignKeys>> = {
  "channels.pico": { ...channelFields, settings: "" },
  "channels.pico_client": {
    ...channelFields,
    settings: "",
    session_id: 'Choose the conversation with "doorward client -session NAME".',
    ping_interval: "The server names the interval.",
    read_timeout: "The server names the timeout.",
  },
  gateway: {
    hot_reload: "Edits always take effect without a restart.",
    log_level: "The flag -debug logs everything.",
    allowed_cidrs: addresses,
  },
  launcher: {
    allowed_cidrs: addresses,
    trusted_proxy_cidrs: 'Doorward reads "trusted_proxies".',
    allow_localhost_bypass: "Every browser has to sign in.",
    dashboard_password_hash: "Set the launcher token with: doorward token set launcher",
    external_apps: "",
  },
};

/** Channels of `channels` and `channel_list` that Doorward has not. */
export const channelNames: readonly string[] = [
  "dingtalk",
  "discord",
  "feishu",
  "irc",
  "line",
  "maixcam",
  "matrix",
  "mattermost",
  "mqtt",
  "onebot",
  "qq",
  "slack",
  "teams_webhook",
  "telegram",
  "vk",
  "wecom",
  "wecom_aibot",
  "wecom_app",
  "weixin",
  "whatsapp",
  "whatsapp_native",
];

/** At the top of `.security.yml`. */
export const securityKeys: ForeignKeys = { model_list: answers, web: "", skills: "", tools: "" };

export const variablePrefix = "PICOCLAW_";

/** Variables whose counterpart is not the same name after another prefix. */
export const variables: ForeignKeys = {
  PICOCLAW_CONFIG: "Name the file as the first argument: doorward PATH/config.json",
  PICOCLAW_LOG_LEVEL: "The flag -debug logs everything.",
};

/** Names of variables without the prefix that Doorward also reads, with its own prefix. */
export const sharedVariables: readonly string[] = [
  "HOME",
  "LAUNCHER_TOKEN",
  "LAUNCHER_HOST",
  "LAUNCHER_PORT",
  "GATEWAY_HOST",
  "GATEWAY_PORT",
  "CHANNELS_PICO_TOKEN",
  "CHANNELS_PICO_CLIENT_TOKEN",
  ...Object.entries(sharedFields).flatMap(([channel, fields]) =>
    fields.map((field) => `CHANNELS_${channel}_${field}`.toUpperCase()),
  ),
];
