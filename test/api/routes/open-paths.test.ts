import { expect, test } from 'bun:test';
import { StoreUnavailableError } from '../../../src/store/database/database.ts';
import { SecretBox } from '../../../src/store/tenants/secret-box.ts';
import { call, createTenant, testApp } from '../../support/api.ts';
import { alteredStore, onSuiteEngine } from '../../support/stores.ts';

onSuiteEngine('the paths that need no key', (store) => {
  test('/healthz is 200 while the process lives, also when it is not ready', async () => {
    const response = await call(testApp(store.db, {}, { isReady: () => false }), null, '/healthz');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: 'ok' });
  });

  test('/readyz is 200 when the store responds', async () => {
    const response = await call(testApp(store.db), null, '/readyz');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: 'ready', store: store.engine });
  });

  test('/readyz is 503 from the moment the service begins to stop', async () => {
    const response = await call(testApp(store.db, {}, { isReady: () => false }), null, '/readyz');
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).not.toBeNull();
  });

  test('/readyz is 503 when the key was changed under the process', async () => {
    await createTenant(store.db);
    const box = new SecretBox(new Uint8Array(32).fill(9));
    const response = await call(testApp(store.db, {}, { box }), null, '/readyz');
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('SECRET_KEY');
  });

  test('/readyz is 503 when the store does not respond', async () => {
    const db = alteredStore(store.db, { get: () => Promise.reject(new StoreUnavailableError('down')) });
    const response = await call(testApp(db), null, '/readyz');
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ status: 'not ready' });
  });

  test('/readyz is 503 when no worker of Citus responds', async () => {
    const db = alteredStore(store.db, { dialect: { ...store.db.dialect, hasWorker: () => false } });
    const response = await call(testApp(db), null, '/readyz');
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('Citus');
  });

  test('/readyz is 503 while a worker keeps failing, and names it with its last error', async () => {
    const claims = { worker: 'claims', failuresInARow: 7, failingForSeconds: 40, lastError: 'Error: no claim' };
    const response = await call(testApp(store.db, {}, { failingWorkers: () => [claims] }), null, '/readyz');
    expect(response.status).toBe(503);
    const reason = 'background work keeps failing: claims';
    expect(await response.json()).toEqual({ status: 'not ready', reason, workers: [claims] });
  });

  test('/docs is a page whose every asset comes from this process', async () => {
    const app = testApp(store.db);
    const response = await call(app, null, '/docs');
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const page = await response.text();
    expect(page).not.toMatch(/(https?:)?\/\/[\w-]+\./);
    const assets = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
    expect(assets.length).toBeGreaterThan(2);
    for (const path of assets) {
      expect(path).toStartWith('/docs/');
      const asset = await call(app, null, path);
      expect(asset.status).toBe(200);
      expect(asset.headers.get('content-type')).toMatch(/^text\/(css|javascript); charset=utf-8$/);
      expect((await asset.text()).length).toBeGreaterThan(50);
    }
  });

  test('/docs reads the document of this process', async () => {
    const start = await (await call(testApp(store.db), null, '/docs/start.js')).text();
    expect(start).toContain("url: '/openapi.json'");
  });
});
