import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { importsOf, wrongArrows } from './import-arrows.ts';

const SRC = resolve(import.meta.dir, '../../src');

/** Declarations for the compiler alone, which import nothing. */
const files = [...new Bun.Glob('**/*.{ts,tsx}').scanSync(SRC)].filter((file) => !file.endsWith('.d.ts'));
const read = (file: string) => Bun.file(`${SRC}/${file}`).text();

test('every import runs in the direction of the architecture', async () => {
  expect(files.length).toBeGreaterThan(40);
  const wrong = await Promise.all(files.map(async (file) => wrongArrows(file, await read(file))));
  expect(wrong.flat()).toEqual([]);
});

test('the domain knows no clock, no chance, no network, no file and no environment', async () => {
  const impure =
    /\bDate\.now\(|\bnew Date\(\)|\bperformance\.|\bMath\.random\(|getRandomValues|randomUUID|\bfetch\(|node:fs|node:net|\bprocess\.|Bun\.(file|env|sql|serve)/;
  for (const file of files.filter((name) => name.startsWith('domain/'))) {
    expect({ file, impure: impure.exec(await read(file))?.[0] }).toEqual({ file, impure: undefined });
  }
});

test('commands that speak to a server or receive open no store and read no setting of the service', async () => {
  const ofOthers = files.filter((name) => /^cli\/(server|play|listen)\//.test(name));
  expect(ofOthers.length).toBeGreaterThan(10);
  for (const file of ofOthers) {
    const source = await read(file);
    const opened = importsOf(source).filter((name) =>
      /\/(service|(?:store|delivery|api)\/(?!new-id\.ts).+)/.test(name),
    );
    expect({ file, opened, reads: source.includes('loadConfig') }).toEqual({ file, opened: [], reads: false });
  }
});

test('the client and the verifier take types alone from the domain, so that no schema is shipped with them', async () => {
  const shipped = files.filter((file) => /^(client|verify)\//.test(file));
  expect(shipped.length).toBeGreaterThan(15);
  for (const file of shipped) {
    const values = (await read(file)).match(/^(?:import|export) (?!type )[^;]*?from '(?!\.\/)[^']+';/gm);
    expect({ file, values }).toEqual({ file, values: null });
  }
});

describe('the check of the arrows', () => {
  test.each([
    ['domain/webhooks.ts', `import { listWebhooks } from '../store/webhooks.ts';`],
    ['domain/webhooks.ts', `import type { Config } from '../config.ts';`],
    ['store/webhooks.ts', `export { json } from '../api/answers.ts';`],
    ['api/app.ts', `import { send } from '../delivery/sender.ts';`],
    ['delivery/engine.ts', `import type { App } from '../api/app.ts';`],
    ['api/routes/webhooks.ts', `import { startService } from '../../service.ts';`],
    ['service.ts', `import { run } from './cli/program.ts';`],
    ['cli/serve.ts', `import '../main.ts';`],
    ['config.ts', `import { createLogger } from './log.ts';`],
    ['store/sqlite.ts', `const late = await import('../service.ts');`],
    ['store/sqlite.ts', `import {\n  first,\n  second,\n} from '../cli/output.ts';`],
    ['dashboard/app.tsx', `import { listWebhooks } from '../store/webhooks.ts';`],
    ['store/webhooks/change.ts', `import { Problem } from '../../contract/problems.ts';`],
    ['utils/helpers.ts', ''],
  ])('finds the wrong arrow in %s: %s', (file, source) => {
    expect(wrongArrows(file, source)).toHaveLength(1);
  });

  test.each([
    ['cli/serve.ts', `import { startService } from '../service.ts';`],
    ['service.ts', `import { createApp } from './api/app.ts';\nimport { run } from './delivery/engine.ts';`],
    ['api/routes/webhooks.ts', `import { json } from '../answers.ts';\nimport { z } from 'zod';`],
    ['store/database.ts', `import type { DatabaseTarget } from '../config.ts';`],
    ['version.ts', `import packageJson from '../package.json' with { type: 'json' };`],
    [
      'domain/webhooks.ts',
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
