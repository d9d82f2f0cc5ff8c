import { useEffect, useRef } from 'preact/hooks';
import { Icon, LogoMark } from './components/icon.tsx';
import { useStore } from './observable.ts';
import { DASHBOARD_PATHS, type ViewName } from './paths.ts';
import { Link, usePlace } from './router.tsx';
import { lacking, type Session, signOut } from './session.ts';
import { VERSION } from './settings.ts';
import { VIEW_NAMES, VIEWS } from './views.tsx';

/** Navigation around the view that the address names. */
export function Shell({ session }: { session: Session }) {
  const { path } = usePlace();
  const name = VIEW_NAMES.find((view) => DASHBOARD_PATHS[view] === path) ?? 'overview';
  const { View } = VIEWS[name];
  const main = useFocusOnNewView(name);
  return (
    <div class="shell">
      <a class="skip-link" href="#main">
        Skip to the content
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
          <Lacking />
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

/** What this key was refused for, so that nobody wonders twice. */
function Lacking() {
  const permissions = [...useStore(lacking)];
  if (permissions.length === 0) return null;
  return (
    <p class="lacking small" role="status">
      <Icon name="lock" size={14} />
      <span>
        This key lacks <code>{permissions.join(', ')}</code>
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

/** A page that changes without loading says nothing to a screen reader unless the focus moves to the new heading. */
function useFocusOnNewView(name: ViewName) {
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
