import { describe, expect, test } from 'bun:test';
import { dirname, join, resolve } from 'node:path';
import { wrongArrows } from './import-arrows.ts';
import { importCycles, importersOf, importGraph, importsOf, packagesImported } from './import-graph.ts';

const ROOT = resolve(import.meta.dir, '../..');

const sources = await readSources('{src,bench,faults,test,build,demo,package}/**/*.{ts,tsx}');
const graph = importGraph(sources);
const sourcesIn = (folder: string) => [...sources].filter(([file]) => file.startsWith(folder));

async function readSources(pattern: string): Promise<Map<string, string>> {
  const files = [...new Bun.Glob(pattern).scanSync(ROOT)]
    // A declaration file imports nothing and is read by the compiler alone.
    .filter((file) => !file.endsWith('.d.ts') && !file.includes('node_modules'));
  return new Map(
    await Promise.all(files.map(async (file) => [file, await Bun.file(resolve(ROOT, file)).text()] as const)),
  );
}

test('every import runs in the direction of the architecture', () => {
  expect(sourcesIn('src/').length).toBeGreaterThan(200);
  expect(sourcesIn('src/').flatMap(([file, source]) => wrongArrows(file, source))).toEqual([]);
});

test('no files import each other in a cycle', () => {
  expect(graph.size).toBeGreaterThan(500);
  expect(importCycles(graph)).toEqual([]);
});

test('the HTTP client of deliveries is imported by the sender alone', () => {
  const importers = importersOf(graph, 'src/delivery/http/').filter((file) => file.startsWith('src/'));
  expect(importers).toEqual(['src/delivery/sender.ts']);
});

test('OpenTelemetry is loaded only where a collector is set: no other import than a late one leads to it', () => {
  const importing = sourcesIn('src/').filter(([, source]) => source.includes(`'@opentelemetry/`));
  expect(importing.length).toBeGreaterThan(2);
  const loading = importing.map(([file]) => file);
  expect(loading.filter((file) => !file.startsWith('src/telemetry/'))).toEqual([]);
  for (const [file, source] of sourcesIn('src/')) {
    if (loading.includes(file)) continue;
    const values = [...source.matchAll(/^(?:import|export) (?!type )[^;]*?from '(\.[^']+)';/gm)];
    const early = values.map(([, from = '']) => join(dirname(file), from)).filter((path) => loading.includes(path));
    expect({ file, early }).toEqual({ file, early: [] });
  }
});

test('the domain imports no schema library: schemas are part of the contract', () => {
  const packages = new Set(sourcesIn('src/domain/').flatMap(([, source]) => packagesImported(source)));
  expect([...packages].sort()).toEqual(['ipaddr.js', 'node:crypto']);
  expect(sourcesIn('src/contract/').flatMap(([, source]) => packagesImported(source))).toContain('zod');
});

test('the domain knows no clock, no randomness, no network, no file and no environment', () => {
  const impure =
    /\bDate\.now\(|\bnew Date\(\)|\bperformance\.|\bMath\.random\(|getRandomValues|randomUUID|\bfetch\(|node:fs|node:net|\bprocess\.|Bun\.(file|env|sql|serve)/;
  for (const [file, source] of sourcesIn('src/domain/')) {
    expect({ file, impure: impure.exec(source)?.[0] }).toEqual({ file, impure: undefined });
  }
});

test('commands that speak to a server or receive open no store and read no setting of the service', () => {
  const commands = [...sources].filter(([file]) => /^src\/cli\/(server|play|listen)\//.test(file));
  expect(commands.length).toBeGreaterThan(10);
  for (const [file, source] of commands) {
    const opened = importsOf(source).filter((name) =>
      /\/(service|(?:store|delivery|api)\/(?!new-id\.ts).+)/.test(name),
    );
    expect({ file, opened, reads: source.includes('loadConfig') }).toEqual({ file, opened: [], reads: false });
  }
});

// How two books are compared is the same on both sides, and needs nothing else.
test('the client and the verifier take types alone from the domain but for reconciliation, so that no schema is shipped with them', () => {
  const IS_SHIPPED = /^src\/(client|verify|domain\/reconciliation)\//;
  const shipped = [...sources].filter(([file]) => IS_SHIPPED.test(file));
  expect(shipped.length).toBeGreaterThan(15);
  for (const [file, source] of shipped) {
    const values = [...source.matchAll(/^(?:import|export) (?!type )[^;]*?from '([^']+)';/gm)];
    const outside = values.filter(
      ([, from = '']) => !from.startsWith('.') || !IS_SHIPPED.test(join(dirname(file), from)),
    );
    expect({ file, outside: outside.map(([statement]) => statement) }).toEqual({ file, outside: [] });
  }
});

describe('the check of the arrows', () => {
  test.each([
    ['src/domain/webhooks.ts', `import { listWebhooks } from '../store/webhooks.ts';`],
    ['src/domain/webhooks.ts', `import type { Config } from '../config.ts';`],
    ['src/store/webhooks.ts', `export { json } from '../api/responses.ts';`],
    ['src/api/app.ts', `import { send } from '../delivery/sender.ts';`],
    ['src/delivery/engine.ts', `import type { App } from '../api/app.ts';`],
    ['src/api/routes/webhooks.ts', `import { startService } from '../../service.ts';`],
    ['src/service.ts', `import { run } from './cli/program.ts';`],
    ['src/cli/serve.ts', `import '../main.ts';`],
    ['src/config.ts', `import { createLogger } from './log.ts';`],
    ['src/store/sqlite.ts', `const late = await import('../service.ts');`],
    ['src/store/sqlite.ts', `import {\n  first,\n  second,\n} from '../cli/output.ts';`],
    ['src/dashboard/app.tsx', `import { listWebhooks } from '../store/webhooks.ts';`],
    ['src/store/webhooks/change.ts', `import { Problem } from '../../contract/problems.ts';`],
    ['src/utils/helpers.ts', ''],
  ])('finds the wrong arrow in %s: %s', (file, source) => {
    expect(wrongArrows(file, source)).toHaveLength(1);
  });

  test.each([
    ['src/cli/serve.ts', `import { startService } from '../service.ts';`],
    ['src/service.ts', `import { createApp } from './api/app.ts';\nimport { run } from './delivery/engine.ts';`],
    ['src/api/routes/webhooks.ts', `import { json } from '../responses.ts';\nimport { z } from 'zod';`],
    ['src/store/database.ts', `import type { DatabaseTarget } from '../config.ts';`],
    ['src/version.ts', `import packageJson from '../package.json' with { type: 'json' };`],
    [
      'src/domain/webhooks.ts',
      `// import { x } from '../store/x.ts';\n/* import '../api/app.ts' */ import { y } from './y.ts';`,
    ],
  ])('takes the right arrow in %s: %s', (file, source) => {
    expect(wrongArrows(file, source)).toEqual([]);
  });

  test('sees every form of import', () => {
    const source = `import a from 'a'; import type { B } from "b"; export * from 'c'; export { d } from 'd';
      import 'e'; const f = import('f'); import * as g from 'g'; const text = 'import h';`;
    expect(importsOf(source).sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  });
});

describe('the check of cycles', () => {
  const graphOf = (sources: Record<string, string>) => importGraph(new Map(Object.entries(sources)));

  test('names each cycle once, whether it imports values or types', () => {
    const cycles = importCycles(
      graphOf({
        'src/store/migrate.ts': `import { migrations } from './migrations/all.ts';`,
        'src/store/migrations/all.ts': `import { first } from './first.ts';`,
        'src/store/migrations/first.ts': `import type { Migration } from '../migrate.ts';`,
        'src/store/open.ts': `import { migrate } from './migrate.ts';`,
        'bench/load.ts': `import { script } from './script.ts';`,
        'bench/script.ts': `import type { Load } from './load.ts';`,
        'src/api/itself.ts': `export * from './itself.ts';`,
      }),
    );
    expect(cycles).toEqual([
      'bench/load.ts → bench/script.ts → bench/load.ts',
      'src/api/itself.ts → src/api/itself.ts',
      'src/store/migrate.ts → src/store/migrations/all.ts → src/store/migrations/first.ts → src/store/migrate.ts',
    ]);
  });

  test('accepts files that are imported by many', () => {
    const diamond = graphOf({
      'a.ts': `import './b.ts'; import './c.ts';`,
      'b.ts': `import './d.ts';`,
      'c.ts': `import './d.ts';`,
      'd.ts': `import 'zod';`,
    });
    expect(importCycles(diamond)).toEqual([]);
  });
});

test('the check of a folder finds each file outside that imports from it', () => {
  const graph = importGraph(
    new Map([
      ['src/delivery/http/client.ts', `import { connect } from './connection.ts';`],
      ['src/delivery/sender.ts', `import { createClient } from './http/client.ts';`],
      ['src/delivery/engine.ts', `import type { Client } from './http/client.ts';`],
      ['src/api/app.ts', `import { asProblem } from './http/problem-response.ts';`],
    ]),
  );
  expect(importersOf(graph, 'src/delivery/http/')).toEqual(['src/delivery/sender.ts', 'src/delivery/engine.ts']);
});

test('the check of packages finds a schema library', () => {
  const source = `import { z } from 'zod';\nimport { createHmac } from 'node:crypto';\nimport { x } from './x.ts';`;
  expect(packagesImported(source)).toEqual(['zod', 'node:crypto']);
});
