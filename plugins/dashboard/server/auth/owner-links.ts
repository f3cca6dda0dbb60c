/** Creates sign-in links for the launcher, the control socket and other plugins. @module */
import type { AuthContext, SiteContext } from "../context.ts";
import type { SignInLink } from "../service.ts";

/**
 * Creates a link for the owner. The sign-in that it opens has the full lifetime.
 *
 * @param page - The page to open after sign-in. @defaultValue the overview
 */
export function ownerLink(auth: AuthContext, site: SiteContext, page?: string): SignInLink {
  const { link, expiresAt } = auth.signInLinks.mint(auth.tokens.info("launcher").version);
  const next = page === undefined ? "" : `&next=${encodeURIComponent(page)}`;
  const path = site.url(`/?token=${link}${next}`);
  const privateUrl = site.privateHost.url(path);
  return {
    path,
    copyPath: site.url(`/login?link=${link}${next}`),
    expiresAt,
    ...(privateUrl !== undefined && { privateUrl }),
  };
}
