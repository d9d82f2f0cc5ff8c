import type { FunctionComponent } from 'preact';
import type { IconName } from '../../components/icon.tsx';
import { Tabs } from '../../components/view/tabs.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { urlFor, useRoute } from '../../router.tsx';
import { AlertUrl } from './alert-url.tsx';
import { AuditLog } from './audit/index.tsx';
import { ApiKeys } from './keys/index.tsx';

type Section = { readonly label: string; readonly icon: IconName; readonly Content: FunctionComponent };

/** The first section is shown if the URL names no section. */
const SECTIONS: Readonly<Record<string, Section>> = {
  keys: { label: 'API keys', icon: 'lock', Content: ApiKeys },
  alerts: { label: 'Alerts', icon: 'notification', Content: AlertUrl },
  audit: { label: 'Audit log', icon: 'clock', Content: AuditLog },
};

/** The settings of the entity as a whole. */
export function Settings() {
  const { query } = useRoute();
  const named = query.get('section') ?? '';
  const current = named in SECTIONS ? named : 'keys';
  const Content = SECTIONS[current]?.Content ?? ApiKeys;
  return (
    <>
      <ViewHead title="Settings" description="Who has access, who is alerted, and who changed what." />
      <Tabs
        label="Sections"
        class="settings-tabs"
        tabs={Object.entries(SECTIONS).map(([name, { label, icon }]) => {
          const to = urlFor(DASHBOARD_PATHS.settings, { section: name === 'keys' ? null : name });
          return { to, label, icon, isChosen: name === current };
        })}
      />
      <Content key={current} />
    </>
  );
}
