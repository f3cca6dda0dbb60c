/** Sign-in links of the owner: for the launcher, the control socket and other plugins. @module */
import type { DashboardContext } from "../context.ts";
import type { SignInLink } from "../service.ts";

/** The caller counts as the owner: the sign-in that the link opens has its full length. */
export function ownerLink(context: DashboardContext, page?: string): SignInLink {
  const { link, expiresAt } = context.links.mint(context.tokens.info("launcher").version);
  const next = page === undefined ? "" : `&next=${encodeURIComponent(page)}`;
  const path = context.http.url(`/?token=${link}${next}`);
  const privateUrl = context.privateHost.url(path);
  return {
    path,
    copyPath: context.http.url(`/login?link=${link}${next}`),
    expiresAt,
    ...(privateUrl !== undefined && { privateUrl }),
  };
}
