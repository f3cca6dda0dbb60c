/** Settings of the way in, which the command line changes for a reverse proxy. @module */
import type { SettingsSection } from "../../../settings/index.ts";
import { sectionsOf } from "../api/settings.ts";
import type { DashboardContext } from "../context.ts";
import { refuse, required } from "../errors.ts";

/** Facts of the launcher for a proxy, and the settings that name the proxy. */
interface AccessView {
  /** Addresses of the dashboard, the most readable one first. */
  readonly addresses: readonly string[];
  readonly basePath: string;
  readonly publicUrl?: string;
  readonly trustedProxies: readonly string[];
  readonly allowedHosts: readonly string[];
}

interface AccessChange {
  readonly publicUrl: string;
  readonly trustedProxy: string;
  readonly allowedHost: string;
}

type Needs = Pick<DashboardContext, "http" | "services" | "site">;

const valueOf = (sections: readonly SettingsSection[], name: string): Record<string, unknown> =>
  (sections.find(({ section }) => section === name)?.value ?? {}) as Record<string, unknown>;
const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

export async function accessView({ http, services, site }: Needs): Promise<AccessView> {
  const sections = await sectionsOf(services);
  const launcher = valueOf(sections, "launcher");
  const { public_url: publicUrl } = valueOf(sections, "gateway");
  return {
    addresses: http.addresses().map(({ href }) => href),
    basePath: site.url("/").replace(/\/$/, ""),
    ...(typeof publicUrl === "string" && { publicUrl }),
    trustedProxies: textsOf(launcher["trusted_proxies"]),
    allowedHosts: textsOf(launcher["allowed_hosts"]),
  };
}

const added = (list: readonly string[], item: string): string[] =>
  list.includes(item) ? [...list] : [...list, item];

/**
 * Stores the public URL, trusts the proxy and permits the host name. Other entries stay.
 *
 * @throws not_found without settings, and the errors of `Settings.update`
 */
export async function changeAccess(needs: Needs, change: AccessChange): Promise<AccessView> {
  const settings = required(needs.services.settings, "This deployment has no settings.");
  const before = await accessView(needs);
  const patches: readonly (readonly [section: string, patch: Record<string, unknown>])[] = [
    [
      "launcher",
      {
        trusted_proxies: added(before.trustedProxies, change.trustedProxy),
        allowed_hosts: added(before.allowedHosts, change.allowedHost),
      },
    ],
    ["gateway", { public_url: change.publicUrl }],
  ];
  for (const [section, patch] of patches) {
    const found = (await settings.describe()).find((one) => one.section === section);
    if (!found) throw refuse("not_found", { message: `The section "${section}" is not in use.` });
    const value = found.value as Record<string, unknown>;
    const changed = Object.entries(patch).filter(
      ([field, next]) => JSON.stringify(value[field]) !== JSON.stringify(next),
    );
    if (changed.length === 0) continue;
    const fields = Object.keys(patch);
    await settings.update(section, Object.fromEntries(changed), found.etag, { fields });
  }
  return accessView(needs);
}
