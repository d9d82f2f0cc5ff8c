import type { Redelivery } from '../../contract/deliveries/redelivery.ts';
import { Progress } from './progress.ts';

/** Each poll is a request to the server. */
const POLL_INTERVAL_MS = 1_000;
/** Time without a change after which the command stops watching. The server continues without the command. */
const STALLED_AFTER_MS = 15_000;

/** Shows the progress of a bulk redelivery until all deliveries are sent, or until it stalls. */
export async function watchRedelivery(read: () => Promise<Redelivery>): Promise<Redelivery> {
  const progress = new Progress();
  let changedAtMs = performance.now();
  let lastState = '';
  for (;;) {
    const redelivery = await read();
    const { status, queued, sent } = redelivery;
    progress.show(queued === 0 ? null : sent / queued, `${sent} of ${queued} sent`);
    const state = `${status} ${queued} ${sent}`;
    if (state !== lastState) changedAtMs = performance.now();
    lastState = state;
    const isComplete = status === 'finished' && sent >= queued;
    if (isComplete || performance.now() - changedAtMs > STALLED_AFTER_MS) {
      progress.clear();
      return redelivery;
    }
    await Bun.sleep(POLL_INTERVAL_MS);
  }
}
