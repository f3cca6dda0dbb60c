/** Sign-in links of the owner: for the launcher, the control socket and other plugins. @module */
import type { DashboardContext } from "../context.ts";
import type { SignInLink } from "../service.ts";

/** The caller counts as the owner: the sign-in that the link opens has its full length. */
export function ownerLink(door: DashboardContext, page?: string): SignInLink {
  const { link, expiresAt } = door.links.mint(door.tokens.info("launcher").version);
  const next = page === undefined ? "" : `&next=${encodeURIComponent(page)}`;
  const path = door.http.url(`/?token=${link}${next}`);
  const privateUrl = door.privateHost.url(path);
  return {
    path,
    copyPath: door.http.url(`/login?link=${link}${next}`),
    expiresAt,
    ...(privateUrl !== undefined && { privateUrl }),
  };
}
