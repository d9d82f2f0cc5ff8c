import { beforeAll, describe, expect, test } from 'bun:test';
import { createSbom, type Sbom } from '../../build/sbom.ts';
import root from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };

const COMMIT = { id: 'c0ffee', date: '2026-02-03T04:05:06+02:00' };
let sbom: Sbom;
beforeAll(async () => {
  sbom = await createSbom(COMMIT);
});
const names = () => sbom.components.map(({ name }) => name);

describe('the bill of materials', () => {
  test('is the same for the same commit, and another for another', async () => {
    expect(await createSbom(COMMIT)).toEqual(sbom);
    expect(sbom.metadata.timestamp).toBe('2026-02-03T02:05:06.000Z');
    expect(sbom.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect((await createSbom({ ...COMMIT, id: 'decaf' })).serialNumber).not.toBe(sbom.serialNumber);
  });

  test('lists what the executable contains: every runtime dependency, Bun and the viewer', () => {
    expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'paybell' } } });
    expect(names()).toEqual(expect.arrayContaining(Object.keys(root.dependencies)));
    expect(sbom.components.filter(({ name }) => name === 'bun')).toMatchObject([
      { version: Bun.version, type: 'platform' },
    ]);
    expect(names()).toContain('swagger-ui-dist');
    const addresses = sbom.components.map(({ purl }) => purl);
    expect(new Set(addresses).size).toBe(addresses.length);
  });

  test('lists no development dependency', () => {
    const shippedByBuild = ['swagger-ui-dist'];
    const development = Object.keys(root.devDependencies).filter((name) => !shippedByBuild.includes(name));
    expect(names().filter((name) => development.includes(name))).toEqual([]);
  });
});

type Locked = { name?: string; version?: string; integrity?: string; resolved?: string; link?: boolean; dev?: boolean };
const locked = Object.entries(lock.packages as Record<string, Locked>).filter(([path]) =>
  path.includes('node_modules/'),
);

describe('package-lock.json', () => {
  test('has the integrity of every package, and names no registry', () => {
    expect(locked.length).toBeGreaterThan(100);
    const open = locked.filter(([, { integrity, link }]) => integrity === undefined && link !== true);
    expect(open.map(([path]) => path)).toEqual([]);
    expect(JSON.stringify(lock)).not.toMatch(/"resolved":"[a-z+]+:/);
  });

  test('has no telemetry: @scarf/scarf is an empty package', () => {
    const scarf = locked.filter(([path]) => path.endsWith('/@scarf/scarf'));
    expect(scarf.map(([, { name, version }]) => `${name} ${version}`)).toEqual(['empty-npm-package 1.0.0']);
    expect(Object.keys(root.dependencies)).not.toContain('swagger-ui-dist');
  });
});
