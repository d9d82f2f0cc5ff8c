import { useEffect, useRef } from 'preact/hooks';
import { Icon, LogoMark } from './components/icon.tsx';
import { useObservable } from './observable.ts';
import { DASHBOARD_PATHS, type ViewName } from './paths.ts';
import { Link, useRoute } from './router.tsx';
import { missingPermissions, type Session, signOut } from './session.ts';
import { VERSION } from './settings.ts';
import { VIEW_NAMES, VIEWS } from './views.tsx';

/** The navigation, and the view that the URL selects. */
export function Shell({ session }: { session: Session }) {
  const { path } = useRoute();
  const name = VIEW_NAMES.find((view) => DASHBOARD_PATHS[view] === path) ?? 'overview';
  const { View } = VIEWS[name];
  const main = useFocusOnViewChange(name);
  return (
    <div class="shell">
      <a class="skip-link" href="#main">
        Skip to content
      </a>
      <header class="sidebar">
        <Link to={DASHBOARD_PATHS.overview} class="brand" aria-label="Paybell, overview">
          <LogoMark />
          <span>Paybell</span>
        </Link>
        <Navigation current={name} />
        <div class="sidebar-foot">
          <p class="identity" title={session.entityId}>
            <span class="muted small">Entity</span>
            <code>{session.entityId}</code>
          </p>
          <MissingPermissions />
          <a class="nav-link" href="/docs">
            <Icon name="docs" />
            <span>API reference</span>
          </a>
          <button type="button" class="nav-link" onClick={() => signOut()}>
            <Icon name="leave" />
            <span>Sign out</span>
          </button>
          <p class="version muted small">Paybell {VERSION}</p>
        </div>
      </header>
      <main id="main" ref={main}>
        <View key={name} />
      </main>
    </div>
  );
}

/** Explains why some buttons are disabled. */
function MissingPermissions() {
  const permissions = [...useObservable(missingPermissions)];
  if (permissions.length === 0) return null;
  return (
    <p class="missing-permissions small" role="status">
      <Icon name="lock" size={14} />
      <span>
        This API key is missing <code>{permissions.join(', ')}</code>
      </span>
    </p>
  );
}

function Navigation({ current }: { current: ViewName }) {
  return (
    <nav class="nav" aria-label="Views">
      {VIEW_NAMES.map((name) => (
        <Link
          key={name}
          to={DASHBOARD_PATHS[name]}
          class="nav-link"
          aria-current={name === current ? 'page' : undefined}
        >
          <Icon name={VIEWS[name].icon} />
          <span>{VIEWS[name].label}</span>
        </Link>
      ))}
    </nav>
  );
}

/** A screen reader announces a new view only if the focus moves to its heading, because no document is loaded. */
function useFocusOnViewChange(name: ViewName) {
  const main = useRef<HTMLElement>(null);
  const shown = useRef(name);
  useEffect(() => {
    if (shown.current === name) return;
    shown.current = name;
    main.current?.querySelector<HTMLElement>('h1')?.focus();
    scrollTo(0, 0);
  }, [name]);
  return main;
}
