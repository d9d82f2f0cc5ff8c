import type { Redelivery } from '../../contract/deliveries.ts';
import { CommandError } from './command-error.ts';
import { Progress } from './progress.ts';

const LOOK_EVERY_MS = 200;
/** As long as a server is at work the posts go on without this command; it only watches. */
const GIVE_UP_AFTER_MS = 15_000;

/** Until all are queued and sent, or until nothing has moved for a while. */
export async function watchRedelivery(
  read: () => Promise<Redelivery | null>,
  lookEveryMs = LOOK_EVERY_MS,
): Promise<Redelivery> {
  const progress = new Progress();
  let movedAtMs = performance.now();
  let seen = '';
  for (;;) {
    const now = await read();
    if (now === null) throw new CommandError('the redelivery is gone; was the store replaced?');
    progress.show(now.queued === 0 ? null : now.sent / now.queued, `${now.sent} of ${now.queued} sent`);
    const state = `${now.status} ${now.queued} ${now.sent}`;
    if (state !== seen) movedAtMs = performance.now();
    seen = state;
    const isOver = now.status === 'finished' && now.sent >= now.queued;
    if (isOver || performance.now() - movedAtMs > GIVE_UP_AFTER_MS) {
      progress.clear();
      return now;
    }
    await Bun.sleep(lookEveryMs);
  }
}
