import type { Webhook } from '../../../client/types.ts';
import { asProblem, paybell } from '../../api.ts';
import { showToast } from '../../components/toasts.tsx';
import { createStore } from '../../observable.ts';
import { noteWebhooksChanged } from './changed-signal.ts';

/**
 * Deleting is final in the API, and cancels what was not sent yet. So the moment in which it can be taken back lies before
 * the request: nothing is deleted until it is over.
 */
const UNDO_MS = 8_000;

export type Deletion = { readonly untilMs: number; readonly undo: () => void };

export const deletions = createStore<ReadonlyMap<string, Deletion>>(new Map());

/** How to bring each forward, for when the page goes away before its moment is over. */
const waiting = new Map<string, () => void>();

export function deleteLater({ webhookId, postUrl }: Webhook): void {
  // Of whoever is signed in now: the moment may end after a sign-out.
  const client = paybell();
  const removeNow = async () => {
    end();
    try {
      await client.webhooks.delete(webhookId);
    } catch (error) {
      showToast({ tone: 'bad', text: `Not deleted. ${asProblem(error).detail}` });
    }
    forget(webhookId);
    noteWebhooksChanged();
  };
  const timer = setTimeout(() => void removeNow(), UNDO_MS);
  const undo = () => {
    end();
    forget(webhookId);
  };
  const removeToast = showToast(
    { tone: 'neutral', text: `The webhook to ${postUrl} will be deleted.`, action: { label: 'Undo', run: undo } },
    UNDO_MS,
  );
  const end = () => {
    clearTimeout(timer);
    removeToast();
    waiting.delete(webhookId);
  };
  waiting.set(webhookId, () => void removeNow());
  deletions.set(new Map(deletions.get()).set(webhookId, { untilMs: Date.now() + UNDO_MS, undo }));
}

function forget(webhookId: string): void {
  const left = new Map(deletions.get());
  left.delete(webhookId);
  deletions.set(left);
}

// Whoever closes the page has not taken it back.
window.addEventListener('pagehide', () => {
  for (const removeNow of [...waiting.values()]) removeNow();
});
