import type { Server } from 'bun';
import { createApp } from './api/app.ts';
import type { Config } from './config.ts';
import { ACTORS } from './domain/audit.ts';
import type { Logger } from './log.ts';
import type { Database } from './store/database.ts';
import { type Migration, migrate, pendingMigrations } from './store/migrate.ts';
import { openDatabase } from './store/open-database.ts';
import { type Provisioned, provisionFirstEntity } from './store/provision.ts';
import type { SecretBox } from './store/secret-box.ts';
import { openSecretBox } from './store/secret-key.ts';

/** Above every limit of our own, so that our own 413 speaks. */
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;
const IDLE_TIMEOUT_S = 30;

/** Long enough for a load balancer's next look at /readyz, short enough for a person at a terminal. */
const READINESS_GRACE_MS = 250;
const DRAIN_MS = 10_000;

export type Service = {
  readonly url: string;
  /** Made because the store was empty; the key is nowhere else. */
  readonly firstEntity: Provisioned | null;
  readonly stop: () => Promise<void>;
};

export class PendingMigrationsError extends Error {
  override readonly name = 'PendingMigrationsError';

  constructor(pending: readonly Migration[]) {
    const names = pending.map(({ version, name }) => `${version} (${name})`).join(', ');
    super(`AUTO_MIGRATE is false and the store lacks migrations: ${names}. Apply them with: paybell migrate`);
  }
}

/** Composition root: settings in, a running service out. */
export async function startService(config: Config, log: Logger): Promise<Service> {
  const { db, box } = await openStore(config);
  let ready = false;
  try {
    const change = { actor: ACTORS.paybell, nowS: Math.floor(Date.now() / 1000) };
    const firstEntity = await provisionFirstEntity(db, box, change);
    const app = createApp({ config, db, box, log, nowMs: Date.now, isReady: () => ready });
    const server = Bun.serve({
      hostname: config.HOST,
      port: config.PORT,
      reusePort: config.REUSE_PORT,
      maxRequestBodySize: MAX_REQUEST_BYTES,
      idleTimeout: IDLE_TIMEOUT_S,
      development: false,
      fetch: app.fetch,
      error: (error) => {
        log.error({ err: error }, 'request failed outside the app');
        return new Response(null, { status: 500 });
      },
    });
    ready = true;
    const stop = async () => {
      ready = false;
      await Bun.sleep(READINESS_GRACE_MS);
      await drain(server);
      await db.close();
    };
    return { url: urlOf(server), firstEntity, stop };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** The store with its schema up to date and its secrets readable, or an error that says what to mend. */
export async function openStore(config: Config): Promise<{ db: Database; box: SecretBox }> {
  const db = await openDatabase(config.DATABASE_URL);
  try {
    if (config.AUTO_MIGRATE) await migrate(db);
    else {
      const pending = await pendingMigrations(db);
      if (pending.length > 0) throw new PendingMigrationsError(pending);
    }
    return { db, box: await openSecretBox(db, config) };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** Requests in flight finish; whatever still hangs after that is cut. */
async function drain(server: Server<undefined>): Promise<void> {
  const stopped = server.stop();
  const timer = setTimeout(() => void server.stop(true), DRAIN_MS);
  await stopped;
  clearTimeout(timer);
}

function urlOf(server: Server<undefined>): string {
  const host = server.hostname ?? '127.0.0.1';
  return `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`;
}
