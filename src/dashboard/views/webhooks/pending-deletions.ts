import type { Webhook } from '../../../client/webhooks.ts';
import { asProblem, paybell } from '../../api.ts';
import { showToast } from '../../components/toasts.tsx';
import { createObservable } from '../../observable.ts';
import { bumpWebhooksRevision } from './revision.ts';

/**
 * A deletion in the API is final and cancels unsent deliveries. To offer an undo, the dashboard sends the request only after
 * this delay.
 */
const UNDO_MS = 8_000;

export type Deletion = { readonly untilMs: number; readonly undo: () => void };

export const pendingDeletions = createObservable<ReadonlyMap<string, Deletion>>(new Map());

/** Functions that run a pending deletion at once, if the tab is closed before the delay is over. */
const runNow = new Map<string, () => void>();

export function scheduleDeletion({ webhookId, postUrl }: Webhook): void {
  // Keeps the client of this session, because the user may sign out before the delay is over.
  const client = paybell();
  const deleteNow = async () => {
    cancelTimer();
    try {
      await client.webhooks.delete(webhookId);
    } catch (error) {
      showToast({ tone: 'bad', text: `Webhook not deleted. ${asProblem(error).detail}` });
    }
    removePending(webhookId);
    bumpWebhooksRevision();
  };
  const timer = setTimeout(() => void deleteNow(), UNDO_MS);
  const undo = () => {
    cancelTimer();
    removePending(webhookId);
  };
  const removeToast = showToast(
    { tone: 'neutral', text: `Deleting the webhook to ${postUrl}`, action: { label: 'Undo', run: undo } },
    UNDO_MS,
  );
  const cancelTimer = () => {
    clearTimeout(timer);
    removeToast();
    runNow.delete(webhookId);
  };
  runNow.set(webhookId, () => void deleteNow());
  pendingDeletions.set(new Map(pendingDeletions.get()).set(webhookId, { untilMs: Date.now() + UNDO_MS, undo }));
}

function removePending(webhookId: string): void {
  const remaining = new Map(pendingDeletions.get());
  remaining.delete(webhookId);
  pendingDeletions.set(remaining);
}

// Closing the tab is not an undo.
window.addEventListener('pagehide', () => {
  for (const deleteNow of [...runNow.values()]) deleteNow();
});
