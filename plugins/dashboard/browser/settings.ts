import type { SettingsSectionView, SettingsView } from "../api/views.ts";
import { startDesk } from "./desk.ts";
import { live, setLive } from "./dom.ts";
import { load } from "./owner.ts";
import { sectionForm, type SectionForm } from "./settings-form.ts";
import { startStream } from "./stream.ts";

const place = live("sections")!;
const order = ["channels.pico", "channels.pico_client", "launcher"];
const forms = new Map<string, SectionForm>();

startDesk();
const refresh = async () => {
  const refused = await load<SettingsView>("/api/settings", ({ sections }) =>
    inOrder(sections).forEach(put),
  );
  setLive("problem", refused === undefined || refused.status === 401 ? "" : refused.message);
  return refused;
};
startStream({ refresh, news: ["settings"] });
addEventListener("beforeunload", (event) => {
  if ([...forms.values()].some((form) => form.isChanged())) event.preventDefault();
});

/** What is changed most comes first, and the longest form has a column of its own. */
function inOrder(sections: readonly SettingsSectionView[]): readonly SettingsSectionView[] {
  return [...sections].sort((a, b) => order.indexOf(a.section) - order.indexOf(b.section));
}

/** A form that is there takes what is new in the files and keeps what was typed. */
function put(view: SettingsSectionView): void {
  const { section } = view;
  const known = forms.get(section);
  const form = known ?? sectionForm(view, refresh);
  forms.set(section, form);
  if (known) known.take(view);
  else place.append(form.element);
}
