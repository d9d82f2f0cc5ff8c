import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { PERMISSIONS } from '../../../src/domain/keys/api-keys.ts';
import { MIGRATIONS } from '../../../src/store/database/migrate.ts';
import { version } from '../../../src/version.ts';
import { WEBHOOKS } from '../../support/api.ts';
import {
  type CommandOutcome,
  commandLine,
  commandLineIn,
  commandProcess,
  settingsIn,
  startServe,
} from '../../support/command-line.ts';
import { type Settings, tempFolder } from '../../support/paybell.ts';
import { createPostgresDatabase } from '../../support/postgres.ts';
import { SUITE_ENGINES } from '../../support/suite.ts';

const SECRET_KEY = Buffer.alloc(32, 5).toString('base64');
const KEY = /^pbk_[0-9A-Za-z]{36}$/;

function expectJson(finished: CommandOutcome): unknown {
  expect(finished).toMatchObject({ exitCode: 0, stderr: '' });
  expect(finished.stdout.trimEnd().split('\n')).toHaveLength(1);
  return JSON.parse(finished.stdout);
}

function expectFailure(finished: CommandOutcome, exitCode: number, message: string): void {
  expect(finished).toMatchObject({ exitCode, stdout: '' });
  expect(finished.stderr).toContain(message);
  expect(finished.stderr).not.toContain('    at ');
}

for (const engine of SUITE_ENGINES) {
  describe(`the command line on ${engine}`, () => {
    const folder = tempFolder();
    let settings: Settings = settingsIn(folder.path);
    let entityId: string;

    const paybell = (...args: string[]) => commandLine(settings)(args);

    beforeAll(async () => {
      if (engine === 'postgres') settings = { DATABASE_URL: await createPostgresDatabase(), SECRET_KEY };
    });

    afterAll(() => folder.remove());

    test('migrate applies everything once, and then nothing', async () => {
      const applied = MIGRATIONS.map(({ version: number, name }) => ({ version: number, name }));
      expect(expectJson(await paybell('migrate', '--json'))).toEqual({ applied });
      expect(expectJson(await paybell('migrate', '--json'))).toEqual({ applied: [] });
      expect((await paybell('migrate')).stdout).toBe('The schema is up to date.\n');
    });

    test('entities list of an empty store is empty', async () => {
      expect(expectJson(await paybell('entities', 'list', '--json'))).toEqual({ totalResults: 0, entities: [] });
      expect((await paybell('entities', 'list')).stdout).toContain('paybell entities create');
    });

    test('entities create --json prints the entity and its key, and nothing else', async () => {
      const made = expectJson(await paybell('entities', 'create', '--name', 'Acme', '--json')) as Record<
        string,
        string
      >;
      expect<unknown>(made).toEqual({
        entityId: expect.stringMatching(/^ent_[0-9a-f]{32}$/),
        apiKey: expect.stringMatching(KEY),
      });
      entityId = made.entityId ?? '';
    });

    test('entities list shows it by name and date', async () => {
      expect(expectJson(await paybell('entities', 'list', '--json'))).toEqual({
        totalResults: 1,
        entities: [{ entityId, name: 'Acme', dateCreated: expect.any(Number) }],
      });
      expect((await paybell('entities', 'list')).stdout).toMatch(new RegExp(`${entityId}\\s+Acme\\s+20\\d\\d-`));
    });

    test('keys create, list and revoke: a key works until it is revoked, and is listed without itself', async () => {
      const options = ['--entity', entityId, '--name', 'Shop', '--permissions', 'webhooks:read', '--expires', '90d'];
      const made = expectJson(await commandLine(settings)(['keys', 'create', ...options, '--json'])) as Record<
        string,
        string
      >;
      expect<unknown>(made).toEqual({
        keyId: expect.stringMatching(/^key_[0-9a-f]{32}$/),
        apiKey: expect.stringMatching(KEY),
      });

      const served = await startServe(settings);
      const paybell = (...args: string[]) => commandProcess(settings)(args);
      const headers = { 'api-key': made.apiKey ?? '', 'entity-id': entityId };
      const list = async () => (await fetch(served.url + WEBHOOKS, { headers })).status;
      expect(await list()).toBe(200);

      const listed = await paybell('keys', 'list', '--entity', entityId, '--json');
      expect(listed.stdout).not.toContain(made.apiKey ?? '');
      const shown = {
        keyId: made.keyId,
        entityId,
        name: 'Shop',
        prefix: 'pbk_',
        lastFour: made.apiKey?.slice(-4),
        permissions: ['webhooks:read'],
        dateCreated: expect.any(Number),
        dateExpires: expect.any(Number),
        dateRevoked: null,
      };
      const { totalResults, keys } = expectJson(listed) as { totalResults: number; keys: Record<string, unknown>[] };
      expect(totalResults).toBe(2);
      const key = keys.find(({ keyId }) => keyId === made.keyId);
      expect(Number(key?.dateExpires) - Number(key?.dateCreated)).toBe(90 * 86_400);
      expect(key).toMatchObject(shown);
      expect(keys.find(({ keyId }) => keyId !== made.keyId)).toMatchObject({ permissions: [...PERMISSIONS] });

      const revoke = async () => {
        const revoked = expectJson(await paybell('keys', 'revoke', made.keyId ?? '', '--json'));
        return (revoked as { dateRevoked: number }).dateRevoked;
      };
      const dateRevoked = await revoke();
      expect(dateRevoked).toBeNumber();
      expect(await list()).toBe(401);
      expect(await revoke()).toBe(dateRevoked);
      expect((await paybell('keys', 'list')).stdout).toMatch(/Shop\s+pbk_….*revoked/);
      await served.stop();
    });

    test('for people, create says that the key is shown once', async () => {
      const { stdout } = await paybell('entities', 'create', '--name', 'Second');
      expect(stdout).toMatch(/entity-id {2}ent_\w+\napi-key {4}pbk_\w+\nThe key is shown only this once\.\n/);
      expect((await paybell('keys', 'create', '--entity', entityId)).stdout).toMatch(
        /key-id {3}key_\w+\napi-key {2}pbk_/,
      );
    });

    test('of an unknown entity or key ends with 1 and names it', async () => {
      expectFailure(await paybell('keys', 'create', '--entity', 'ent_none'), 1, 'there is no entity ent_none');
      expectFailure(await paybell('keys', 'revoke', 'key_none'), 1, 'there is no key key_none');
    });
  });
}

describe('the command line', () => {
  const folder = tempFolder();
  afterAll(() => folder.remove());
  const paybell = (...args: string[]) => commandLineIn(folder.path)(args);

  test.each<[string[], string]>([
    [['nonsense'], 'unknown command'],
    [['entity'], 'Did you mean entities'],
    [['entities', 'create'], '--name'],
    [['entities', 'create', '--name', ''], '--name must be 1 to 200 characters'],
    [['entities', 'list', '--limit', '101', '--page', '0'], '--page must be a whole number from 1'],
    [['keys', 'create', '--entity', 'x', '--permissions', 'webhooks:read,nope'], 'Unknown: nope'],
    [['keys', 'create', '--entity', 'x', '--expires', 'soon'], '90d'],
    [['keys', 'revoke'], 'keyId'],
    [['serve', '--nope'], "unknown option '--nope'"],
  ])('of wrong usage (%j) ends with 2 and says what is wrong on standard error', async (args, message) => {
    expectFailure(await paybell(...args), 2, message);
  });

  test('with wrong settings ends with 2 in every command', async () => {
    for (const args of [['migrate'], ['entities', 'list'], ['keys', 'list']]) {
      expectFailure(await commandLineIn(folder.path, { PORT: 'x', ROLE: 'y' })(args), 2, '2 settings are invalid');
    }
  });

  test('shows its version and its help with 0', async () => {
    expect(await paybell('--version')).toMatchObject({ exitCode: 0, stdout: `${version}\n` });
    const { exitCode, stdout } = await paybell('--help');
    expect(exitCode).toBe(0);
    for (const name of ['serve', 'migrate', 'entities', 'keys']) expect(stdout).toContain(name);
  });
});

test('a command that makes nothing makes no store either, wherever a mistyped DATABASE_URL points', async () => {
  const folder = tempFolder();
  const file = `${folder.path}/ghost.db`;
  const { exitCode, stderr } = await commandLine({ DATABASE_URL: `sqlite:${file}` })(['entities', 'list']);
  expect(exitCode).toBe(1);
  expect(stderr).toContain(`there is no store at ${file}`);
  expect(await Bun.file(file).exists()).toBe(false);
  folder.remove();
});
