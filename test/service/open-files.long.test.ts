import { expect, setDefaultTimeout, test } from 'bun:test';
import { createTenant, type Tenant } from '../support/api.ts';
import { TEST_SECRET_KEY } from '../support/command-line.ts';
import { LATE_ON_1, readAttempts, readDeliveries, statuses } from '../support/deliveries.ts';
import { type Served, serveProgram, tempFolder } from '../support/paybell.ts';
import { databaseSettings } from '../support/postgres.ts';
import { PROGRAM } from '../support/program.ts';
import { parseMetrics } from '../support/prometheus.ts';
import { connectRaw } from '../support/raw-http.ts';
import { Client } from '../support/service.ts';
import { onSuiteEngine, type TestStore } from '../support/stores.ts';
import { until } from '../support/until.ts';
import { seedWebhooks } from '../support/webhooks.ts';

setDefaultTimeout(120_000);

const FILES = 256;
/** More than the process could have connections to. */
const HANGING = 300;
const EVENTS = 40;

/** A service that may open a few hundred files, with a DELIVERY_CONCURRENCY far above that. */
class SmallProcess implements AsyncDisposable {
  readonly #folder = tempFolder();
  #served: Served | null = null;

  async start(store: TestStore, schedule = '0s,1s,1s'): Promise<Served> {
    const limited = ['/bin/sh', '-c', `ulimit -n ${FILES} && exec "$@"`, 'sh', ...PROGRAM];
    this.#served = await serveProgram(limited, this.#folder.path, {
      DATABASE_URL: store.url,
      SECRET_KEY: TEST_SECRET_KEY,
      ALLOW_INSECURE_TARGETS: 'true',
      RETRY_SCHEDULE: schedule,
      DELIVERY_TIMEOUT: '2s',
      ...databaseSettings(store.url),
    });
    return this.#served;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#served?.stop('SIGKILL');
    this.#folder.remove();
  }
}

/** Ports that take connections and never respond. */
class HangingPorts implements Disposable {
  connections = 0;
  readonly #ports = Array.from({ length: HANGING }, () =>
    Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        open: () => void this.connections++,
        data: () => undefined,
      },
    }),
  );

  get urls(): string[] {
    return this.#ports.map(({ port }) => `http://127.0.0.1:${port}/`);
  }

  [Symbol.dispose](): void {
    for (const port of this.#ports) port.stop(true);
  }
}

async function sampleOf(url: string, wanted: string): Promise<number> {
  const { samples } = parseMetrics(await (await fetch(`${url}/metrics`)).text());
  return samples.filter(({ name }) => name === wanted).reduce((sum, { value }) => sum + Number(value), 0);
}

onSuiteEngine(`a process that may open ${FILES} files`, (store) => {
  const register = (tenant: Tenant, urls: readonly string[]) =>
    seedWebhooks(
      store.db,
      tenant.entityId,
      urls.map((postUrl) => ({ ...LATE_ON_1, postUrl })),
    );
  const errorsOf = async ({ entityId }: Tenant) => {
    const attempts = await readAttempts(store.db, entityId);
    return attempts.map(({ error, statusCode }) => error ?? String(statusCode));
  };

  test(`delivers for one entity while ${HANGING} destinations of another hang`, async () => {
    using hanging = new HangingPorts();
    using receiver = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('ok') });
    const [other, own] = [await createTenant(store.db), await createTenant(store.db)];
    await register(other, hanging.urls);
    await register(own, [`http://127.0.0.1:${receiver.port}/`]);
    await using small = new SmallProcess();
    const { url, stdout } = await small.start(store);
    await new Client(url, other).send({});
    await until('the other entity has many requests in flight', () => hanging.connections >= 50);
    for (let event = 0; event < EVENTS; event++) await new Client(url, own).send({});
    await until('every event is complete', async () => {
      const deliveries = await readDeliveries(store.db, own.entityId);
      return deliveries.length === EVENTS && deliveries.every(({ status }) => /delivered|failed/.test(status));
    });
    expect(new Set(await errorsOf(own))).toEqual(new Set(['200']));
    await until('most destinations had an attempt', () => hanging.connections >= HANGING - 50);
    expect(new Set(await errorsOf(other))).toEqual(new Set(['timeout']));
    expect(await sampleOf(url, 'paybell_delivery_slots')).toBeWithin(50, 150);
    expect(stdout()).toContain('the limit of open files allows fewer requests at a time than DELIVERY_CONCURRENCY');
  });

  test('sends a delivery once that it could not send while clients used all files', async () => {
    using receiver = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('ok') });
    const tenant = await createTenant(store.db);
    await register(tenant, [`http://127.0.0.1:${receiver.port}/`]);
    await using small = new SmallProcess();
    const { url, stdout } = await small.start(store, '3s,1s');
    await new Client(url, tenant).send({});
    const clients = await Promise.all(Array.from({ length: FILES }, () => connectRaw(url)));
    const isPaused = () => stdout().includes('deliveries are paused for a second');
    await until('the process tried to send', async () => isPaused() || (await errorsOf(tenant)).length > 0);
    expect(await errorsOf(tenant)).toEqual([]);
    for (const client of clients) client.end();
    await until('the delivery is complete', async () =>
      (await statuses(store.db, tenant.entityId)).includes('delivered'),
    );
    expect(await errorsOf(tenant)).toEqual(['200']);
    expect(await sampleOf(url, 'paybell_local_shortages_total')).toBeGreaterThan(0);
  });
});
