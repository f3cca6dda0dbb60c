/** Draws the content of a documentation page, which the build has turned into a tree. @module */
import { h, type ComponentChild, type JSX } from "preact";
import { useMemo } from "preact/hooks";

/** A text, or a tag with its attributes and children. */
export type DocNode = string | readonly [tag: string, attributes: DocAttributes, ...DocNode[]];
type DocAttributes = 0 | Readonly<Record<string, string | number>>;

/** Id of the element around the content. The build rejects headings with it. */
export const contentId = "content";

interface ContentProps {
  readonly nodes: readonly DocNode[];
  /** Adds the base path to the path of a page. */
  readonly url: (path: string) => string;
}

/** Draws the tree. It never changes, so it is drawn once. */
export function Content({ nodes, url }: ContentProps): JSX.Element {
  return useMemo(() => {
    const draw = (node: DocNode): ComponentChild => {
      if (typeof node === "string") return node;
      const [tag, attributes, ...children] = node;
      return h(tag, withBase(attributes, url), children.map(draw));
    };
    return <>{nodes.map(draw)}</>;
  }, []);
}

/** Links to other pages of the documentation begin with `docs:`. */
function withBase(attributes: DocAttributes, url: ContentProps["url"]): object | null {
  if (attributes === 0) return null;
  const { href } = attributes;
  if (typeof href !== "string" || !href.startsWith("docs:")) return attributes;
  return { ...attributes, href: url(`/docs/${href.slice("docs:".length)}`) };
}

/**
 * Reads the tree back from the document, so that the document does not contain it twice.
 *
 * @param parent - The element around the content.
 */
export function nodesOf(parent: Element): readonly DocNode[] {
  return [...parent.childNodes].flatMap((node): DocNode[] => {
    if (node instanceof Text) return [node.data];
    if (!(node instanceof Element)) return [];
    const attributes = [...node.attributes].map(({ name, value }) => [name, value]);
    const values = Object.fromEntries(attributes) as DocAttributes;
    return [[node.localName, attributes.length === 0 ? 0 : values, ...nodesOf(node)]];
  });
}
