import { useEffect } from 'preact/hooks';
import { createObservable, useObservable } from '../observable.ts';
import { DASHBOARD_PATHS } from '../paths.ts';
import { navigate } from '../router.tsx';
import { Dialog } from './dialog.tsx';
import { Icon } from './icon.tsx';
import { Facts } from './values/facts.tsx';

const KEYS = {
  '/': 'Search in this view, or find anything',
  '?': 'List the shortcuts',
  Esc: 'Close a dialog or an open delivery',
} as const;

const STORED_OFF = 'paybell-keys-off';

/** Whether single-key shortcuts are on. Someone who dictates or types by accident can turn them off. */
const areOn = createObservable(localStorage.getItem(STORED_OFF) === null);

const areListed = createObservable(false);

export function KeysButton() {
  return (
    <button type="button" class="nav-link not-phone" onClick={() => areListed.set(true)}>
      <Icon name="info" />
      <span>Shortcuts</span>
    </button>
  );
}

/** Acts on the keys, and lists them. */
export function Keys() {
  const on = useObservable(areOn);
  const listed = useObservable(areListed);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!on || !isFree(event)) return;
      if (event.key === '/') focusSearch();
      else if (event.key === '?') areListed.set(true);
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, [on]);
  return listed ? <KeyList on={on} onClose={() => areListed.set(false)} /> : null;
}

/**
 * Whether the key is free for a shortcut: no field takes it, no dialog is open, and no modifier makes it the browser's
 * shortcut.
 */
function isFree({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  const isTyping = target instanceof Element && target.matches('input, textarea, select');
  return !(isTyping || ctrlKey || metaKey || altKey || document.querySelector('dialog[open]'));
}

/** Focuses the search of the view, or opens the overview, whose search finds anything. */
function focusSearch(): void {
  const search = () => document.querySelector<HTMLInputElement>('main input[type=search]');
  const field = search();
  // At once, so that the next key is typed into the field.
  if (field !== null) {
    field.focus();
    return;
  }
  navigate(DASHBOARD_PATHS.overview);
  requestAnimationFrame(() => search()?.focus());
}

function KeyList({ on, onClose }: { on: boolean; onClose: () => void }) {
  const toggle = () => {
    if (on) localStorage.setItem(STORED_OFF, 'true');
    else localStorage.removeItem(STORED_OFF);
    areOn.set(!on);
  };
  return (
    <Dialog title="Shortcuts" onClose={onClose}>
      <div class="dialog-body">
        <Facts of={KEYS} />
        <label class="check">
          <input type="checkbox" checked={on} onChange={toggle} />
          <span>
            Use <code>/</code> and <code>?</code>
          </span>
        </label>
      </div>
    </Dialog>
  );
}
