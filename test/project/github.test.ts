import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };

const FOLDER = join(import.meta.dir, '../../.github/workflows');

const workflowSchema = z.object({
  permissions: z.record(z.string(), z.string()),
  jobs: z.record(
    z.string(),
    z.object({ 'timeout-minutes': z.number().max(60), steps: z.array(z.object({ run: z.string().optional() })) }),
  ),
});

/** GitHub runs these files; here only the parts are checked that a change of the project can break. */
describe.each(readdirSync(FOLDER))('the workflow %s', async (name) => {
  const workflow = workflowSchema.parse(Bun.YAML.parse(await Bun.file(join(FOLDER, name)).text()));
  const commands = Object.values(workflow.jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));

  test('calls commands of the project', () => {
    expect(commands).toContain('npm ci');
    const called = commands.flatMap((command) => /^npm (?:run )?([a-z:]+)/.exec(command)?.[1] ?? []);
    const known = ['ci', ...Object.keys(packageJson.scripts)];
    expect(called.filter((script) => !known.includes(script))).toEqual([]);
    expect(called).toHaveLength(commands.length);
  });

  test('may only read the repository', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
  });
});
