/** Signs in the person that a reverse proxy names in a header. @module */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Log, Release } from "../../../../kernel/index.ts";
import { isPersonId } from "../../../../lib/util.ts";
import type { Http, Identity } from "../../../http/index.ts";
import type { TokenSecrets } from "../../../token-store/index.ts";
import type { DashboardConfig } from "../config.ts";
import { dashboardErrors } from "../errors.ts";
import type { ProxyHeaderView } from "../service.ts";
import { probeProxyHeader } from "./proxy-probe.ts";

/** Name of the secret that the proxy sends, among the tokens. */
export const proxyToken = "proxy_sign_in";
const minSecretLength = 32;

/** The result of a request. */
type FromProxy =
  /** It does not come from the proxy: the sign-in of the dashboard counts. */
  | { readonly kind: "direct" }
  /** It comes from the proxy, or says so: no cookie counts. */
  | { readonly kind: "nobody" }
  | { readonly kind: "stranger"; readonly id: string }
  | { readonly kind: "owner"; readonly id: string; readonly name?: string };

interface ProxySignInOptions {
  readonly http: Pick<
    Http,
    "intercept" | "isFromTrustedProxy" | "noteFault" | "peer" | "publicUrl"
  >;
  readonly secrets: Pick<TokenSecrets, "reveal">;
  readonly log: Log;
  readonly random: (bytes: number) => Uint8Array;
  readonly after: (ms: number, run: () => void) => Release;
  readonly setting: DashboardConfig["proxy_sign_in"];
}

const direct: FromProxy = { kind: "direct" };
const nobody: FromProxy = { kind: "nobody" };

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

function valuesOf({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  const wanted = name.toLowerCase();
  return rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]!.toLowerCase() === wanted,
  );
}

/** Header values are Latin-1; proxies send UTF-8. Nothing is trimmed: Node removes the spaces
 *  around a value, and an id that ends with another white space is another id. */
const toText = (value: string): string => Buffer.from(value, "latin1").toString("utf8");

/** A list in one header could be the id of a client before that of the proxy. */
const isValidId = (id: string): boolean => isPersonId(id) && !/[,;\s\ufffd]/.test(id);

export class ProxySignIn {
  private readonly options: ProxySignInOptions;
  private readonly known = new WeakMap<IncomingMessage, FromProxy>();
  private readonly holders = new Set<(reason: string) => void>();

  /** The setting at the start. */
  readonly setting: DashboardConfig["proxy_sign_in"];

  constructor(options: ProxySignInOptions) {
    this.options = options;
    this.setting = options.setting;
  }

  /** @throws PROXY_SECRET if the setting is on, and the secret is missing or short. */
  assertSecret(): void {
    const { secrets } = this.options;
    if (!this.setting) return;
    if ((secrets.reveal(proxyToken) ?? "").length < minSecretLength)
      throw dashboardErrors.PROXY_SECRET(minSecretLength);
  }

  /** Decides once for each request. */
  find(request: IncomingMessage): FromProxy {
    const known = this.known.get(request);
    if (known) return known;
    const found = this.inspect(request);
    this.known.set(request, found);
    return found;
  }

  /** @returns Where a sign-out leads, if the request comes from the proxy. */
  logoutUrl(request: IncomingMessage): string | undefined {
    const isProxied = this.find(request).kind !== "direct";
    return isProxied ? this.setting?.logout_url : undefined;
  }

  /** The identity for other plugins, such as the channel. */
  identity(request: IncomingMessage): Identity | undefined {
    const found = this.find(request);
    if (found.kind !== "owner") return undefined;
    const { id, name } = found;
    return {
      id,
      ...(name !== undefined && { name }),
      sessions: "all",
      owner: true,
      onEnd: (ended) => {
        const holder = (reason: string): void => ended(reason);
        this.holders.add(holder);
        return () => void this.holders.delete(holder);
      },
    };
  }

  /** Ends what was signed in with the secret before, because another process may know it. */
  endAll(): void {
    for (const ended of [...this.holders]) ended("rotated");
    this.holders.clear();
  }

  /** Sends the header through the public URL, as any client could. */
  async probe(): Promise<ProxyHeaderView> {
    const { setting, options } = this;
    if (!setting) return { result: "off", paths: [] };
    const { http, random, after } = options;
    const nameOf = (request: IncomingMessage): string | undefined => {
      const found = this.find(request);
      return "id" in found ? found.id : undefined;
    };
    const values = (request: IncomingMessage) => valuesOf(request, setting.header);
    return probeProxyHeader({
      ...{ http, random, after, nameOf },
      header: setting.header,
      valuesOf: values,
    });
  }

  private inspect(request: IncomingMessage): FromProxy {
    const { setting } = this;
    const { http } = this.options;
    if (!setting) return direct;
    // The address of the connection, never a forwarded one.
    if (!http.isFromTrustedProxy(request)) return direct;
    const secrets = valuesOf(request, setting.secret_header);
    if (secrets.length === 0) return direct;
    if (secrets.length > 1 || !this.isSecret(secrets[0]!)) {
      this.reportWrongSecret(request);
      return nobody;
    }
    const ids = valuesOf(request, setting.header);
    const id = toText(ids[0] ?? "");
    if (ids.length !== 1 || !isValidId(id)) return nobody;
    if (!setting.owners.includes(id)) return { kind: "stranger", id };
    const [name, ...more] =
      setting.name_header === undefined ? [] : valuesOf(request, setting.name_header);
    return {
      kind: "owner",
      id,
      ...(name !== undefined && more.length === 0 && { name: toText(name).slice(0, 200) }),
    };
  }

  private isSecret(given: string): boolean {
    const secret = this.options.secrets.reveal(proxyToken);
    if (secret === undefined || secret.length < minSecretLength) return false;
    return timingSafeEqual(digestOf(toText(given)), digestOf(secret));
  }

  private reportWrongSecret(request: IncomingMessage): void {
    const { http, log } = this.options;
    http.noteFault(log, {
      reason: "proxy_secret_wrong",
      address: http.peer(request).address,
      text: "rejected: the secret of the proxy sign-in is wrong",
    });
  }
}
