/** Turns TeX into elements of MathML. No HTML string exists. @module */
import { h, type ComponentChild } from "preact";
import temml from "temml";

/** The library exports the tree only under this name, and its types name another one. */
const { __renderToMathMLTree: renderToTree } = temml as unknown as {
  readonly __renderToMathMLTree: (tex: string, options: object) => MathNode;
};

/** Work is counted, not time, so slow machines draw a formula too. A larger one stays source. */
const maxExpand = 200;
const maxElements = 3_000;
const maxDepth = 100;

interface MathNode {
  readonly type?: string;
  readonly text?: string;
  readonly attributes?: Readonly<Record<string, string | number>>;
  readonly classes?: readonly string[];
  readonly style?: Readonly<Record<string, string>>;
  readonly children?: readonly MathNode[];
}

const elements = new Set(
  (
    "math mrow mi mn mo mtext ms mspace mfrac msqrt mroot msub msup msubsup munder mover " +
    "munderover mmultiscripts mprescripts none mtable mtr mtd mstyle mpadded mphantom " +
    "menclose merror"
  ).split(" "),
);
const attributes = new Set(
  (
    "display displaystyle scriptlevel mathvariant stretchy fence separator form lspace rspace " +
    "minsize maxsize symmetric largeop movablelimits accent accentunder linethickness width " +
    "height depth voffset columnalign columnlines columnspacing rowlines rowspacing rowspan " +
    "columnspan " +
    "notation mathcolor mathbackground mathsize"
  ).split(" "),
);

/** Counts the elements of one formula. */
interface Work {
  elements: number;
}

function toElement(node: MathNode, depth: number, work: Work): ComponentChild {
  if (node.text !== undefined) return node.text;
  if (depth > maxDepth) throw new Error("nested too deeply");
  if (++work.elements > maxElements) throw new Error("too many elements");
  const children = (node.children ?? []).map((child) => toElement(child, depth + 1, work));
  if (node.type === undefined) return h("mrow", null, children);
  if (!elements.has(node.type)) return null;
  const known = Object.entries(node.attributes ?? {}).filter(([name]) => attributes.has(name));
  const classes = (node.classes ?? []).filter(Boolean).join(" ");
  return h(
    node.type,
    { ...Object.fromEntries(known), ...(classes && { class: classes }), style: node.style },
    children,
  );
}

/** @returns Undefined if the formula is invalid or too large. */
export function drawFormula(tex: string, isBlock: boolean): ComponentChild {
  try {
    const tree = renderToTree(tex, {
      displayMode: isBlock,
      throwOnError: true,
      trust: false,
      strict: false,
      maxExpand,
      maxSize: [50, 50],
    });
    return toElement(tree, 0, { elements: 0 }) ?? undefined;
  } catch {
    return undefined;
  }
}
