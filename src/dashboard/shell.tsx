import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isOperator } from '../domain/keys/api-keys.ts';
import { paybell } from './api.ts';
import { Icon, LogoMark } from './components/icon.tsx';
import { Keys, KeysButton } from './components/keys.tsx';
import { onDemand } from './components/on-demand.tsx';
import { useObservable } from './observable.ts';
import { DASHBOARD_PATHS, ENTITIES_PATH, type ViewName } from './paths.ts';
import { Link, navigate, useRoute } from './router.tsx';
import { missingPermissions, type Session, setPermissions, signOut, switchEntity } from './session.ts';
import { IS_PRACTICE, VERSION } from './settings.ts';
import { useResponse } from './use-response.ts';
import { VIEW_NAMES, VIEWS, viewAt } from './views.tsx';

/** The navigation, and the view that the URL selects. */
export function Shell({ session }: { session: Session }) {
  const { path } = useRoute();
  const { name, content } = viewAt(path);
  const { data: caller } = useResponse(session.apiKey, (signal) => paybell().entity({ signal }));
  useEffect(() => {
    if (caller !== null) setPermissions(caller.permissions);
  }, [caller]);
  const isVisit = caller !== null && isOperator(caller.keyId);
  const identity = (
    <>
      <p class={isVisit ? 'identity identity-visit' : 'identity'} title={session.entityId}>
        <span class="muted small">Entity</span>
        {caller === null ? null : <strong class="identity-name">{caller.name}</strong>}
        <code class={caller === null ? '' : 'muted small'}>{session.entityId}</code>
      </p>
      <MissingPermissions />
      {isVisit ? <AllEntities /> : null}
    </>
  );
  return (
    <Frame path={path} navigation={<Navigation current={name} />} identity={identity}>
      {content}
    </Frame>
  );
}

const Entities = onDemand('entities', async () => (await import('./views/entities/index.tsx')).Entities);

/** All entities, for an operator who has opened none. */
export function OperatorShell() {
  const { path } = useRoute();
  return (
    <Frame path={path} navigation={null} identity={null}>
      <Entities />
    </Frame>
  );
}

function AllEntities() {
  const leave = () => {
    navigate(ENTITIES_PATH);
    switchEntity('');
  };
  return (
    <button type="button" class="nav-link" onClick={leave}>
      <Icon name="left" />
      <span>All entities</span>
    </button>
  );
}

type FrameProps = {
  path: string;
  navigation: ComponentChildren;
  identity: ComponentChildren;
  children: ComponentChildren;
};

/** The sidebar around a view; on a phone, a row above it and one below. */
function Frame({ path, navigation, identity, children }: FrameProps) {
  const main = useFocusOnViewChange(path);
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
        {navigation}
        <div class="sidebar-foot">
          {identity}
          <KeysButton />
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
        {IS_PRACTICE ? <PracticeNotice /> : null}
        {children}
      </main>
      <Keys />
    </div>
  );
}

/** Shown in every view, so that people never mistake a practice payment for money. */
function PracticeNotice() {
  return (
    <p class="alert alert-practice small" role="note">
      <Icon name="payments" />
      <span>
        <strong>Practice mode.</strong> Paybell makes up the payments of the practice network. No money moves.
      </span>
    </p>
  );
}

/** The sidebar has no room for more names of permissions. */
const MAX_NAMED = 3;

/** Explains why some buttons are disabled. */
function MissingPermissions() {
  const permissions = [...useObservable(missingPermissions)];
  if (permissions.length === 0) return null;
  const others = permissions.length - MAX_NAMED;
  return (
    <p class="missing-permissions small" role="status" title={permissions.join(', ')}>
      <Icon name="lock" size={14} />
      <span>
        This API key is missing <code>{permissions.slice(0, MAX_NAMED).join(', ')}</code>
        {others > 0 ? ` and ${others} more` : ''}
      </span>
    </p>
  );
}

/** Views in the only row of a phone, next to the current one. **More** shows the others. */
const FIRST: readonly ViewName[] = ['overview', 'payments', 'deliveries', 'endpoints'];

function Navigation({ current }: { current: ViewName }) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  useEffect(close, [current]);
  return (
    <nav class={isOpen ? 'nav nav-open' : 'nav'} aria-label="Views">
      {VIEW_NAMES.map((name) => (
        <Link
          key={name}
          to={DASHBOARD_PATHS[name]}
          class={FIRST.includes(name) ? 'nav-link' : 'nav-link nav-later'}
          aria-current={name === current ? 'page' : undefined}
        >
          <Icon name={VIEWS[name].icon} />
          <span>{VIEWS[name].label}</span>
        </Link>
      ))}
      <button type="button" class="nav-link nav-more" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? 'cross' : 'more'} />
        <span>{isOpen ? 'Less' : 'More'}</span>
      </button>
    </nav>
  );
}

/** A screen reader announces a new view only if the focus moves to its heading, because no document is loaded. */
function useFocusOnViewChange(path: string) {
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path);
  // Before the next frame, in which a key may move the focus to a search.
  useLayoutEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    main.current?.querySelector<HTMLElement>('h1')?.focus();
    scrollTo(0, 0);
  }, [path]);
  return main;
}
