// Settings page: one form per section.
import type { SettingsSectionView, SettingsView } from "../api/views.ts";
import { startPage } from "./page.ts";
import { live, setLive } from "./dom.ts";
import { load } from "./owner.ts";
import { sectionForm, type SectionForm } from "./settings-form.ts";
import { startStream } from "./stream.ts";

const container = live("sections")!;
const order = ["channels.pico", "channels.pico_client", "launcher"];
const forms = new Map<string, SectionForm>();

startPage();
const refresh = async () => {
  const error = await load<SettingsView>("/api/settings", ({ sections }) =>
    inOrder(sections).forEach(showSection),
  );
  setLive("problem", error === undefined || error.status === 401 ? "" : error.message);
  return error;
};
startStream({ refresh, refreshOn: ["settings"] });
addEventListener("beforeunload", (event) => {
  if ([...forms.values()].some((form) => form.isChanged())) event.preventDefault();
});

/** Puts the most used section first. The longest form fills a column. */
function inOrder(sections: readonly SettingsSectionView[]): readonly SettingsSectionView[] {
  return [...sections].sort((a, b) => order.indexOf(a.section) - order.indexOf(b.section));
}

/** Updates the form of a section and keeps what the user typed, or creates the form. */
function showSection(view: SettingsSectionView): void {
  const { section } = view;
  const existing = forms.get(section);
  const form = existing ?? sectionForm(view, refresh);
  forms.set(section, form);
  if (existing) existing.update(view);
  else container.append(form.element);
}
