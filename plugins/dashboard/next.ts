/** Where to go after signing in: a page of this dashboard, else `/`. */
export function safeRedirectPath(next: unknown): string {
  const given = typeof next === "string" ? next : "";
  if (!/^\/(?!\/)[^\\\p{Cc}]*$/u.test(given) || given.length > 2_048) return "/";
  let url: URL;
  try {
    url = new URL(given, "http://here.invalid");
  } catch {
    return "/";
  }
  // `/.//evil.example` resolves to a path that a browser reads as another host.
  if (url.origin !== "http://here.invalid" || url.pathname.startsWith("//")) return "/";
  if (/^\/(login|logout|setup|api)(\/|$)/.test(url.pathname)) return "/";
  if (url.searchParams.has("token")) url.searchParams.delete("token");
  return url.pathname + url.search;
}
