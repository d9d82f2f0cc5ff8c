import { createStore } from '../../observable.ts';

/** Counts what the page itself has changed, so that every view of webhooks asks again. */
export const webhooksChanged = createStore(0);

export function noteWebhooksChanged(): void {
  webhooksChanged.set(webhooksChanged.get() + 1);
}
