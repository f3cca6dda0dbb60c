type Environment = Readonly<Record<string, string | undefined>>;

/** Paths of Unix sockets where the session's bus may listen, best first; abstract ones begin with a zero byte. Other
 *  transports (tcp, launching a bus) are left out: a desktop session has a socket. */
export function sessionSockets(env: Environment, uid: number | undefined): string[] {
  const given = env["DBUS_SESSION_BUS_ADDRESS"]?.trim();
  if (given) return given.split(";").flatMap((address) => socketsOf(address, env));
  const folder = runtimeFolder(env, uid);
  return folder === undefined ? [] : [`${folder}/bus`];
}

function runtimeFolder(env: Environment, uid: number | undefined): string | undefined {
  return env["XDG_RUNTIME_DIR"] || (uid === undefined ? undefined : `/run/user/${uid}`);
}

function socketsOf(address: string, env: Environment): string[] {
  const [transport, rest = ""] = address.split(/:(.*)/s);
  if (transport !== "unix") return [];
  const values = new Map(rest.split(",").map((pair) => pair.split(/=(.*)/s) as [string, string]));
  const path = unescape(values.get("path"));
  const abstract = unescape(values.get("abstract"));
  const runtime = values.get("runtime") === "yes" && env["XDG_RUNTIME_DIR"];
  return [
    ...(path ? [path] : []),
    ...(abstract ? [`\0${abstract}`] : []),
    ...(runtime ? [`${runtime}/bus`] : []),
  ];
}

/** `%2f` stands for a byte; what is not decodable is no path. */
function unescape(value: string | undefined): string | undefined {
  try {
    const text = value === undefined ? undefined : decodeURIComponent(value);
    return text?.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}
