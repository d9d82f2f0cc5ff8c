import { createObservable } from '../../observable.ts';

/** Increases with every change made in the dashboard, so that every view of webhooks reloads. */
export const webhooksRevision = createObservable(0);

export function bumpWebhooksRevision(): void {
  webhooksRevision.set(webhooksRevision.get() + 1);
}
