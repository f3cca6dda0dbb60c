/** Where to go after signing in: a page of this dashboard, else `/`. */
export function safeNext(next: unknown): string {
  const given = typeof next === "string" ? next : "";
  // eslint-disable-next-line no-control-regex
  if (!/^\/(?!\/)[^\\\u0000-\u001f\u007f]*$/.test(given) || given.length > 2_048) return "/";
  let url: URL;
  try {
    url = new URL(given, "http://here.invalid");
  } catch {
    return "/";
  }
  // `/.//evil.example` resolves to a path that a browser reads as another host.
  if (url.origin !== "http://here.invalid" || url.pathname.startsWith("//")) return "/";
  if (/^\/(login|logout|setup|api)(\/|$)/.test(url.pathname)) return "/";
  url.searchParams.delete("token");
  return url.pathname + url.search;
}
