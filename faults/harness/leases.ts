import { withStore } from './store-audit.ts';

/** On PostgreSQL the leases of a dead instance have to expire; SQLite releases them when the next instance starts. */
export async function expireLeases(url: string): Promise<void> {
  if (url.startsWith('sqlite:')) return;
  await withStore(url, (db) =>
    db.transaction(async (queries) => {
      await queries.run('update queue set lease_ms = 0 where lease_ms > 0');
      await queries.run('update queue_heads set next_due_ms = 0');
    }),
  );
}
