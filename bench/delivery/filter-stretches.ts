import { printTable } from '../../src/cli/terminal/table.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { AcceptQueue } from '../../src/store/events/accept-queue.ts';
import { findDueEntities, stepNext } from '../../src/store/tasks/run.ts';
import { createTenant } from '../../test/support/api.ts';
import { newEvent } from '../../test/support/deliveries.ts';
import { seedFilteredWebhooks } from '../../test/support/filtered-webhooks.ts';
import { runAndExit } from '../../test/support/run-and-exit.ts';
import { createTarget } from '../../test/support/stores.ts';

/**
 * For how long does one event stop the event loop, in processor time, on SQLite? Its entity has thousands of webhooks with other
 * `amount` filters. `bench/delivery/filters.ts` measures the lists of a neighbour, which also wait for other work of the machine.
 * `npx bun bench/delivery/filter-stretches.ts 10000`
 */

const FILTERS = Number(process.argv[2] ?? 10_000);
const KIND = { networkId: 1, event: 'TransferCreated' };

/** Notes the processor time between two turns of the event loop. */
class Stretches {
  #ms: number[] = [];
  #isOver = false;

  async watch(): Promise<void> {
    for (let before = process.cpuUsage(); !this.#isOver; ) {
      await new Promise((resolve) => setImmediate(resolve));
      const { user, system } = process.cpuUsage(before);
      before = process.cpuUsage();
      this.#ms.push((user + system) / 1_000);
    }
  }

  stop(): void {
    this.#isOver = true;
  }

  /** The longest ones since the last call. */
  take(): string {
    const longest = this.#ms.toSorted((a, b) => b - a).slice(0, 5);
    this.#ms = [];
    return longest.map((ms) => ms.toFixed(1)).join(' ');
  }
}

await runAndExit(async () => {
  const { target, remove } = await createTarget('sqlite');
  const db = await openDatabase(target);
  const stretches = new Stretches();
  try {
    await migrate(db);
    const { entityId } = await createTenant(db);
    await seedFilteredWebhooks(db, entityId, KIND, FILTERS);
    const watching = stretches.watch();
    const acceptQueue = new AcceptQueue(db, { onDue: () => undefined });
    const rows: string[][] = [];
    for (const digits of [20, 250_000, 250_000]) {
      const body = JSON.stringify({ ...KIND, eventId: crypto.randomUUID(), amount: '9'.repeat(digits) });
      stretches.take();
      await acceptQueue.accept(newEvent(entityId, { ...KIND, body }));
      rows.push([`acceptance, ${digits} digits`, stretches.take()]);
      for (const entity of await findDueEntities(db)) while ((await stepNext(db, entity)) !== null);
      rows.push(['its tasks', stretches.take()]);
    }
    stretches.stop();
    await watching;
    printTable(['work', 'longest stretches, ms of processor time'], rows, '');
    return 0;
  } finally {
    await db.close();
    remove();
  }
});
