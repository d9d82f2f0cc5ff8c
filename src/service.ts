import type { Server } from 'bun';
import { createApp } from './api/app.ts';
import type { Config } from './config.ts';
import { PERMISSIONS } from './domain/api-keys.ts';
import type { Logger } from './log.ts';
import { createApiKey } from './store/api-keys.ts';
import type { Database } from './store/database.ts';
import { createEntity, hasEntities } from './store/entities.ts';
import { type Migration, migrate, pendingMigrations } from './store/migrate.ts';
import { openDatabase } from './store/open-database.ts';

/** Above every limit of our own, so that our own 413 speaks. */
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;
const IDLE_TIMEOUT_S = 30;

/** Long enough for a load balancer's next look at /readyz, short enough for a person at a terminal. */
const READINESS_GRACE_MS = 250;
const DRAIN_MS = 10_000;

export type FirstEntity = { entityId: string; apiKey: string };

export type Service = {
  readonly url: string;
  /** Made because the store was empty; the key is nowhere else. */
  readonly firstEntity: FirstEntity | null;
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
  const db = await openStore(config);
  let ready = false;
  try {
    const firstEntity = await createFirstEntity(db);
    const app = createApp({ config, db, log, nowMs: Date.now, isReady: () => ready });
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

/** Opens the store with its schema up to date, or says what is missing. */
export async function openStore(config: Config): Promise<Database> {
  const db = await openDatabase(config.DATABASE_URL);
  try {
    if (config.AUTO_MIGRATE) await migrate(db);
    else {
      const pending = await pendingMigrations(db);
      if (pending.length > 0) throw new PendingMigrationsError(pending);
    }
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** Two instances may start on one empty store: the lock lets only the first find it so. */
async function createFirstEntity(db: Database): Promise<FirstEntity | null> {
  if (await hasEntities(db)) return null;
  return db.transaction(async (queries) => {
    for (const sql of db.dialect.lockStore) await queries.run(sql);
    if (await hasEntities(queries)) return null;
    const nowS = Math.floor(Date.now() / 1000);
    const { entityId } = await createEntity(queries, 'First entity', nowS);
    const options = { name: 'First key', permissions: PERMISSIONS, expiresAt: null };
    const { apiKey } = await createApiKey(queries, entityId, options, nowS);
    return { entityId, apiKey };
  });
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
