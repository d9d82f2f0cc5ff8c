import { expect, test } from 'bun:test';
import { StoreUnavailableError } from '../../../src/store/database/database.ts';
import { SecretBox } from '../../../src/store/tenants/secret-box.ts';
import { call, createTenant, testApp } from '../../support/api.ts';
import { alteredStore, onEveryEngine } from '../../support/stores.ts';

onEveryEngine('the paths that need no key', (store) => {
  test('/healthz is 200 while the process lives, also when it is not ready', async () => {
    const answer = await call(testApp(store.db, {}, { isReady: () => false }), null, '/healthz');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ status: 'ok' });
  });

  test('/readyz is 200 when the store answers', async () => {
    const answer = await call(testApp(store.db), null, '/readyz');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ status: 'ready', store: store.engine });
  });

  test('/readyz is 503 from the first sign of stopping on', async () => {
    const answer = await call(testApp(store.db, {}, { isReady: () => false }), null, '/readyz');
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).not.toBeNull();
  });

  test('/readyz is 503 when the key was changed under the process', async () => {
    await createTenant(store.db);
    const box = new SecretBox(new Uint8Array(32).fill(9));
    const answer = await call(testApp(store.db, {}, { box }), null, '/readyz');
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain('SECRET_KEY');
  });

  test('/readyz is 503 when the store does not answer', async () => {
    const db = alteredStore(store.db, { get: () => Promise.reject(new StoreUnavailableError('down')) });
    const answer = await call(testApp(db), null, '/readyz');
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ status: 'not ready' });
  });

  test('/docs is a page whose every asset comes from this process', async () => {
    const app = testApp(store.db);
    const answer = await call(app, null, '/docs');
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const page = await answer.text();
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
