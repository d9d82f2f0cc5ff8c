import { describe, expect, test } from 'bun:test';
import { operationGroups, pathOf } from '../../src/api/operations.ts';
import { Routes } from '../../src/api/routes.ts';
import { loadConfig } from '../../src/config.ts';

const config = loadConfig({ ADMIN_KEY: 'x'.repeat(40), PROCESSOR: 'shop' });

describe('the groups of operations', () => {
  test('a request to any operation loads the group that has it', async () => {
    const operations = (await Promise.all(operationGroups(config).map((group) => group.load()))).flat();
    expect(operations.length).toBeGreaterThan(60);
    for (const operation of operations) {
      const path = pathOf(config, operation);
      const found = await new Routes(config).find(path.replace(/\{\w+\}/, 'an-id'));
      expect({ path, found: found?.route.path }).toEqual({ path, found: path });
      expect(found?.route.handlers.has(operation.method.toUpperCase())).toBe(true);
    }
  });

  test('a path without a parameter is found at once when its group is loaded', async () => {
    const routes = new Routes(config);
    expect(routes.findExact('/api/v1/shop/events')).toBeUndefined();
    await routes.find('/api/v1/shop/events/evt_1');
    expect(routes.findExact('/api/v1/shop/events')?.allow).toBe('POST, GET, HEAD');
    expect(routes.findExact('/api/v1/shop/audit')).toBeUndefined();
  });

  test('all groups can be loaded ahead of their requests', async () => {
    const routes = new Routes(config);
    await routes.loadAll();
    for (const { path } of operationGroups(config).filter(({ path }) => path.endsWith('/audit'))) {
      expect(routes.findExact(path)?.path).toBe(path);
    }
    expect(routes.findExact('/admin/v1/entities')?.path).toBe('/admin/v1/entities');
    expect(routes.findExact('/api/v1/shop/webhooks/classic')?.path).toBe('/api/v1/shop/webhooks/classic');
  });

  test('a path that only begins like those of a group is not found', async () => {
    expect(await new Routes(config).find('/api/v1/shop/eventsx')).toBeNull();
    expect(await new Routes(config).find('/api/v1/shop/webhooks')).toBeNull();
  });

  test('without a key of an operator, the paths of operators do not exist', async () => {
    expect(await new Routes(config).find('/admin/v1/entities')).not.toBeNull();
    expect(await new Routes(loadConfig({})).find('/admin/v1/entities')).toBeNull();
  });
});
