import { expect, test } from 'bun:test';
import { checkCertificates, checkEgress } from '../../../src/cli/doctor/egress.ts';
import { loadConfig } from '../../../src/config.ts';
import { startReceiver } from '../../delivery/receivers.ts';
import { addReceiver, HOOK, newReceiver } from '../../support/deliveries.ts';
import { configure } from '../../support/endpoints.ts';
import { freePort } from '../../support/free-port.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const findings = (settings: Record<string, string>) => Array.fromAsync(checkEgress(loadConfig(settings)));

test('doctor says whether the proxy and the source address can be used, and nothing where neither is set', async () => {
  await using proxy = await startReceiver(() => {});
  const EGRESS_PROXY = `http://user:sesame@127.0.0.1:${proxy.port}`;
  expect(await findings({})).toEqual([]);
  expect(await findings({ EGRESS_PROXY, EGRESS_BIND: '127.0.0.2' })).toMatchObject([
    { check: 'source address', state: 'ok' },
    { check: 'outgoing proxy', state: 'ok', found: `http://127.0.0.1:${proxy.port} accepts connections` },
  ]);
  const broken = await findings({ EGRESS_PROXY: `http://127.0.0.1:${await freePort()}`, EGRESS_BIND: '203.0.113.9' });
  expect(broken).toMatchObject([
    { state: 'error', found: expect.stringContaining('203.0.113.9 cannot be used here') },
    { state: 'error', found: expect.stringContaining('cannot be reached') },
  ]);
});

onSuiteEngine('paybell doctor', (store) => {
  test('names client certificates that have expired or soon will', async () => {
    const { entityId } = await newReceiver(store.db);
    const other = `${HOOK}/other`;
    await addReceiver(store.db, entityId, other);
    expect(await checkCertificates(store.db)).toBeNull();
    const dayS = 86_400;
    const nowS = Math.floor(Date.now() / 1000);
    const set = (postUrl: string, subject: string, dateExpires: number) => {
      const given = { certificate: 'a', privateKey: 'b', subject, fingerprint: 'AB', dateExpires };
      return configure(store.db, entityId, postUrl, { clientCertificate: given });
    };
    await set(HOOK, 'CN=one', nowS + 30 * dayS);
    expect(await checkCertificates(store.db)).toMatchObject({ state: 'ok' });
    await set(other, 'CN=two', nowS + 3 * dayS);
    expect(await checkCertificates(store.db)).toMatchObject({
      state: 'warning',
      found: expect.stringMatching(/expire within two weeks: CN=two of ent_/),
    });
    await set(HOOK, 'CN=one', nowS - 1);
    const found = expect.stringMatching(/have expired or soon will: CN=one of .* \(expired .*CN=two of .* \(expires /);
    expect(await checkCertificates(store.db)).toMatchObject({ state: 'warning', found });
  });
});
