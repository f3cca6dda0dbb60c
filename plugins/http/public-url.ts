// The public URL of the dashboard, which links of messages begin with.
import type { Http } from "./service.ts";

/** Creates the functions that set the public URL, and apply it to a path. */
export function createPublicUrl(basePath: string): Pick<Http, "publish" | "publicUrl"> {
  let find = (): string | undefined => undefined;
  return {
    publish: (publicUrl) => void (find = publicUrl),
    publicUrl(path) {
      const text = find();
      if (text === undefined) return undefined;
      const { origin, pathname } = new URL(text);
      const base = pathname === "/" ? basePath : pathname.replace(/\/$/, "");
      return origin + base + path;
    },
  };
}
