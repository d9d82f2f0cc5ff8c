import type { FunctionComponent } from 'preact';
import { Icon, type IconName } from '../../components/icon.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor, useRoute } from '../../router.tsx';
import { AlertUrl } from './alert-url.tsx';
import { AuditLog } from './audit/index.tsx';
import { ApiKeys } from './keys/index.tsx';

type Section = { readonly label: string; readonly icon: IconName; readonly Content: FunctionComponent };

/** The first one is shown where the URL names none. */
const SECTIONS: Readonly<Record<string, Section>> = {
  keys: { label: 'API keys', icon: 'lock', Content: ApiKeys },
  alerts: { label: 'Alerts', icon: 'notification', Content: AlertUrl },
  audit: { label: 'Audit log', icon: 'clock', Content: AuditLog },
};

/** What concerns the entity as a whole. */
export function Settings() {
  const { query } = useRoute();
  const named = query.get('section') ?? '';
  const current = named in SECTIONS ? named : 'keys';
  const Content = SECTIONS[current]?.Content ?? ApiKeys;
  return (
    <>
      <ViewHead title="Settings" description="Who has access, who is alerted, and who changed what." />
      <nav class="tabs settings-tabs" aria-label="Sections">
        {Object.entries(SECTIONS).map(([name, { label, icon }]) => (
          <Link
            key={name}
            to={urlFor(DASHBOARD_PATHS.settings, { section: name === 'keys' ? null : name })}
            class="tab"
            aria-current={name === current ? 'page' : undefined}
          >
            <Icon name={icon} size={12} />
            {label}
          </Link>
        ))}
      </nav>
      <Content key={current} />
    </>
  );
}
