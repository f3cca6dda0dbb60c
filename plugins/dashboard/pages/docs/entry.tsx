// Starts a documentation page in the browser. The document already contains the article.
import { startPage } from "../start.tsx";
import { contentId, nodesOf } from "./nodes.tsx";
import { DocsPage, type DocsData } from "./page.tsx";

const nodes = nodesOf(document.getElementById(contentId)!);

function HydratedPage({ data }: { readonly data: DocsData }) {
  return <DocsPage data={{ ...data, nodes }} />;
}

startPage(HydratedPage);
