import { beforeEach, expect, test } from 'bun:test';
import { listSecrets } from '../../../src/store/tenants/secrets.ts';
import { createTenant, TEST_BOX, TEST_CHANGE, type Tenant } from '../../support/api.ts';
import { type CommandLine, commandLine, OTHER_SECRET_KEY, TEST_SECRET_KEY } from '../../support/command-line.ts';
import { dumpRows, dumpStorage } from '../../support/dump.ts';
import { onSuiteEngine } from '../../support/stores.ts';

onSuiteEngine('paybell store secrets', (store) => {
  let tenant: Tenant;
  const withKey = (SECRET_KEY: string, more: Record<string, string> = {}): CommandLine =>
    commandLine({ DATABASE_URL: store.url, SECRET_KEY, ...more });
  const show = (key: string) => withKey(key)(['store', 'secrets', 'show', '--entity', tenant.entityId, '--json']);

  beforeEach(async () => {
    tenant = await createTenant(store.db);
  });

  test('show prints what is in force, as JSON for programs and as a table for people', async () => {
    const inForce = await listSecrets(store.db, TEST_BOX, tenant.entityId, TEST_CHANGE.nowS);
    expect(JSON.parse((await show(TEST_SECRET_KEY)).stdout)).toEqual(inForce);
    const { stdout } = await withKey(TEST_SECRET_KEY)(['store', 'secrets', 'show', '--entity', tenant.entityId]);
    const [heading, row] = stdout.split('\n');
    expect(heading).toMatch(/^secret-id +secret +created +signs until$/);
    expect(row).toContain(`${inForce.secrets[0]?.secret}  2023-11-14T22:13:20Z  –`);
    expect(stdout).toMatch(/^public key +created +signs until$/m);
    expect(stdout).toContain(`${inForce.publicKey}  2023-11-14T22:13:20Z  –`);
    expect(stdout).toContain(`/keys/${tenant.entityId}/jwks.json`);
  });

  test('rotate lists the new secret first and the old one with its end', async () => {
    const rotate = ['store', 'secrets', 'rotate', '--entity', tenant.entityId, '--json'];
    const { stdout } = await withKey(TEST_SECRET_KEY)([...rotate, '--overlap-hours', '1']);
    const { secrets } = JSON.parse(stdout);
    expect(secrets).toHaveLength(2);
    expect(secrets[0].dateExpires).toBeNull();
    expect(secrets[1].dateExpires).toBe(secrets[0].dateCreated + 3_600);
    const audit = ['audit', '--entity', tenant.entityId, '--action', 'secret.rotated', '--json'];
    const entries = JSON.parse((await withKey(TEST_SECRET_KEY)(audit)).stdout).audit;
    expect(entries.map(({ actor }: { actor: string }) => actor)).toEqual(['operator:cli']);
  });

  test('rotate-key lists the new public key first and the old one with its end, and nothing that signs', async () => {
    const rotate = ['store', 'secrets', 'rotate-key', '--entity', tenant.entityId, '--overlap-hours', '1'];
    const { stdout } = await withKey(TEST_SECRET_KEY)([...rotate, '--json']);
    const { publicKeys } = JSON.parse(stdout);
    expect(publicKeys).toHaveLength(2);
    expect(publicKeys[0].dateExpires).toBeNull();
    expect(publicKeys[1].dateExpires).toBe(publicKeys[0].dateCreated + 3_600);
    const table = (await withKey(TEST_SECRET_KEY)(rotate)).stdout;
    expect(table).toContain(publicKeys[0].publicKey);
    expect(stdout + table).not.toMatch(/whsec_|whsk_/);
  });

  test.each(['-1', '169', '1.5', '0x1', ''])('an overlap of %p hours is wrong usage', async (hours) => {
    const rotate = ['store', 'secrets', 'rotate', '--entity', tenant.entityId, `--overlap-hours=${hours}`];
    expect((await withKey(TEST_SECRET_KEY)(rotate)).exitCode).toBe(2);
  });

  test('an unknown entity fails', async () => {
    const { exitCode, stderr } = await withKey(TEST_SECRET_KEY)(['store', 'secrets', 'rotate', '--entity', 'ent_none']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: 'error: there is no entity ent_none\n' });
  });

  test('neither an api key nor a signing secret is in clear in the storage', async () => {
    const { secrets } = JSON.parse(
      (await withKey(TEST_SECRET_KEY)(['store', 'secrets', 'rotate', '--entity', tenant.entityId, '--json'])).stdout,
    );
    const storage = await dumpStorage(store);
    expect(storage).toContain(tenant.keyId);
    expect(storage).not.toContain(tenant.apiKey);
    expect(storage).not.toMatch(/whsec_|whsk_/);
    for (const { secret } of secrets) {
      const base64 = secret.slice('whsec_'.length);
      expect(storage).not.toContain(base64);
      expect(storage).not.toContain(Buffer.from(base64, 'base64').toString('latin1'));
    }
  });

  test('a rekey keeps the secrets, opens with the new key alone, and leaves its row in the audit', async () => {
    const before = await show(TEST_SECRET_KEY);
    const rekeyed = await withKey(TEST_SECRET_KEY, { NEW_SECRET_KEY: OTHER_SECRET_KEY })(['store', 'secrets', 'rekey']);
    expect(rekeyed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Set SECRET_KEY to the value of') });
    expect(await show(OTHER_SECRET_KEY)).toEqual(before);
    expect(await show(TEST_SECRET_KEY)).toMatchObject({ exitCode: 1, stdout: '' });
    const audit = ['audit', '--entity', tenant.entityId, '--action', 'secret.rekeyed', '--json'];
    expect(JSON.parse((await withKey(OTHER_SECRET_KEY)(audit)).stdout).totalResults).toBe(1);
    const back = await withKey(OTHER_SECRET_KEY, { NEW_SECRET_KEY: TEST_SECRET_KEY })([
      'store',
      'secrets',
      'rekey',
      '--json',
    ]);
    expect(JSON.parse(back.stdout)).toMatchObject({ keyFile: null, formerKeyFile: null });
    expect(await show(TEST_SECRET_KEY)).toEqual(before);
  });

  test.each(['', 'short', TEST_SECRET_KEY])('a rekey to %p is wrong usage and changes nothing', async (key) => {
    const before = await dumpRows(store);
    const { exitCode, stderr } = await withKey(TEST_SECRET_KEY, { NEW_SECRET_KEY: key })(['store', 'secrets', 'rekey']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('NEW_SECRET_KEY');
    expect(await dumpRows(store)).toBe(before);
  });

  test('a wrong SECRET_KEY stops every command on the store, says how to fix it, and changes nothing', async () => {
    const before = await dumpRows(store);
    const entity = ['--entity', tenant.entityId];
    const commands = [
      ['serve'],
      ['entities', 'list'],
      ['entities', 'create', '--name', 'New'],
      ['keys', 'list'],
      ['keys', 'create', ...entity],
      ['keys', 'revoke', tenant.keyId],
      ['store', 'secrets', 'show', ...entity],
      ['store', 'secrets', 'rotate', ...entity],
      ['store', 'secrets', 'rotate-key', ...entity],
      ['store', 'secrets', 'rekey'],
      ['audit', ...entity],
      ['export', ...entity],
      ['import', ...entity],
      ['prune'],
    ];
    const wrong = withKey(OTHER_SECRET_KEY, { PORT: '0', NEW_SECRET_KEY: TEST_SECRET_KEY });
    for (const command of commands) {
      const { exitCode, stdout, stderr } = await wrong(command);
      expect({ command, exitCode, stdout }).toEqual({ command, exitCode: 1, stdout: '' });
      expect(stderr).toContain('do not open with the current SECRET_KEY: set SECRET_KEY to the key');
    }
    expect(await dumpRows(store)).toBe(before);
  });
});
