import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { Paybell } from '../../src/client/paybell.ts';

/** The table of docs/client.md: the methods of each group. */
async function documented(): Promise<Map<string, string[]>> {
  const page = await Bun.file(join(import.meta.dir, '../../docs/client.md')).text();
  const [, table = ''] = /\| Group \| Methods \|\n\|[-|]+\n((?:\|.*\n)+)/.exec(page) ?? [];
  const rows = table.trimEnd().split('\n');
  return new Map(
    rows.map((row) => {
      const [group = '', ...methods] = [...row.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
      return [group, methods.toSorted()];
    }),
  );
}

function methodsOf(value: object): string[] {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(value));
  return names.filter((name) => name !== 'constructor').toSorted();
}

test('docs/client.md names every method of the client, and no other', async () => {
  const client = new Paybell({ url: 'http://127.0.0.1:1', apiKey: 'key', entityId: 'ent_1' });
  const groups = Object.entries(client).map(([name, group]) => [`client.${name}`, methodsOf(group)] as const);
  const expected = new Map([['client', methodsOf(client)], ...groups]);
  expect(Object.fromEntries(await documented())).toEqual(Object.fromEntries(expected));
});
