import { createObservable, useObservable } from '../observable.ts';
import { Icon, type IconName } from './icon.tsx';

/** A short message about a finished action, with at most one follow-up action. */
export type Toast = {
  readonly id: number;
  readonly tone: 'good' | 'bad' | 'neutral';
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
};

const SHOWN_MS = 6_000;
const ICONS: Readonly<Record<Toast['tone'], IconName>> = { good: 'check', bad: 'alert', neutral: 'info' };

const toasts = createObservable<readonly Toast[]>([]);
let lastId = 0;

/** Shows the toast for `shownMs`. Returns a function that removes it earlier. */
export function showToast(toast: Omit<Toast, 'id'>, shownMs = SHOWN_MS): () => void {
  lastId += 1;
  const id = lastId;
  const remove = () => toasts.set(toasts.get().filter((shown) => shown.id !== id));
  toasts.set([...toasts.get(), { ...toast, id }]);
  setTimeout(remove, shownMs);
  return remove;
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {useObservable(toasts).map(({ id, tone, text, action }) => (
        <div key={id} class={`toast toast-${tone}`}>
          <Icon name={ICONS[tone]} />
          <span>{text}</span>
          {action === undefined ? null : (
            <button type="button" class="button button-small" onClick={action.run}>
              {action.label}
            </button>
          )}
        </div>
      ))}
    </div>
  );
}
