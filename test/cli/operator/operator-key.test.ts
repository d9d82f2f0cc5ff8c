import { describe, expect, test } from 'bun:test';
import { hashApiKey } from '../../../src/domain/keys/api-keys.ts';
import { parseOperatorKeys } from '../../../src/domain/keys/operator-keys.ts';
import { commandLine } from '../../support/command-line.ts';

const paybell = commandLine({});

describe('paybell keys operator', () => {
  test('makes a key and the entry of ADMIN_KEYS that allows it, for at least as long as was asked for', async () => {
    const options = ['--name', 'billing', '--scopes', 'entities:read,events:write', '--expires', '90d'];
    const { stdout } = await paybell(['keys', 'operator', ...options, '--json']);
    const { apiKey, entry } = JSON.parse(stdout) as { apiKey: string; entry: string };
    const keys = parseOperatorKeys(entry);
    if (typeof keys === 'string') throw new Error(keys);
    const [key] = keys;
    expect(key).toMatchObject({ name: 'billing', hash: hashApiKey(apiKey) });
    expect([...(key?.scopes ?? [])]).toEqual(['entities:read', 'events:write']);
    const days = ((key?.expiresAtMs ?? 0) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThanOrEqual(90);
    expect(days).toBeLessThan(91);
  });

  test.each([
    [['--name', 'a b'], '--name'],
    [['--name', 'ci', '--scopes', 'events'], 'events is not one of entities:read'],
    [['--name', 'ci', '--expires', '1h'], '1 to 3649 days'],
  ])('refuses %p with what to give', async (options, message) => {
    const { exitCode, stderr } = await paybell(['keys', 'operator', ...options]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
  });
});
