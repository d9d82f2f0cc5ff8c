import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { commandLine } from '../../support/command-line.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { createTarget } from '../../support/stores.ts';
import { onSystemTerminal, onTerminal } from '../../support/terminal.ts';
import { until } from '../../support/until.ts';

const ESCAPE = '\x1b';
const HOOK = 'http://127.0.0.1:9/a/path/that/no/terminal/of/eighty/columns/shows/beside/an/id';

let service: TestService;
let remove: () => void;
let environment: Record<string, string>;

beforeAll(async () => {
  const target = await createTarget('sqlite');
  remove = target.remove;
  service = await startTestService(target.url, { RETRY_SCHEDULE: '0s' });
  const { entityId, apiKey } = service.first;
  environment = { PAYBELL_URL: service.client().url, PAYBELL_ENTITY_ID: entityId, PAYBELL_API_KEY: apiKey };
  const client = service.client();
  await client.register(HOOK, ['ScheduledAgreementCancel', 'TransferFinalized']);
  for (const event of ['ScheduledAgreementCancel', 'TransferFinalized', 'TransferFinalized']) {
    await client.send({ event });
  }
  const failed = () => client.request('GET', '/deliveries?status=failed').then((response) => response.json());
  await until('all have failed', async () => ((await failed()) as { totalResults: number }).totalResults === 3);
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  remove();
});

/** In this process, but for one test on a terminal of the system. */
const show = (columns: number, args: readonly string[], settings = {}) =>
  onTerminal(columns, args, { ...environment, ...settings });

describe('on a terminal', () => {
  test.each([80, 120])('of %d columns, deliveries list is one line for each delivery', async (columns) => {
    const { lines } = await show(columns, ['deliveries', 'list'], { NO_COLOR: '1' });
    const rows = lines.filter((line) => line.startsWith('dlv_'));
    expect(rows).toHaveLength(3);
    for (const row of rows) expect(row).toMatch(/^dlv_[0-9a-f]{32} {2}\S+ .*failed/);
    for (const line of lines.slice(0, -1)) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(columns);
    expect(lines[0]).toMatch(/^delivery-id +event +/);
    // The path of a URL stays as long as there is room for it, and a column without a value goes without a note.
    if (columns === 120) for (const row of rows) expect(row).toEndWith('/an/id');
    expect(lines[0]).not.toContain('waits for');
    expect(lines.at(-1)).toMatch(/^Hidden columns: [a-z, ]+ \(use --json or a wider terminal\)$/);
    expect(lines.at(-1)).not.toContain('waits for');
  });

  test('of the system, the lines are the same', async () => {
    const list = ['deliveries', 'list'];
    for (const [columns, more] of [
      [80, { NO_COLOR: '1' }],
      [260, {}],
    ] as const) {
      const settings = { ...environment, ...more };
      expect(await onSystemTerminal(columns, list, settings)).toEqual(await onTerminal(columns, list, settings));
    }
  });

  test('that is wide enough, nothing is left out', async () => {
    const { lines } = await show(260, ['deliveries', 'list'], { NO_COLOR: '1' });
    expect(lines).toHaveLength(4);
    expect(lines[1]).toEndWith(HOOK);
  });

  test('of 80 columns, webhooks list and events list are one line for each row too', async () => {
    for (const command of ['webhooks', 'events']) {
      const { lines } = await show(80, [command, 'list'], { NO_COLOR: '1' });
      expect(lines.filter((line) => /^(wh_[\w…]{9,}|evt_[0-9a-f]{32}) /.test(line))).toHaveLength(
        command === 'webhooks' ? 2 : 3,
      );
      for (const line of lines.slice(0, -1)) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
    }
  });

  test('there is colour, unless TERM is dumb or NO_COLOR is set', async () => {
    const list = ['deliveries', 'list'];
    expect((await show(120, list)).lines.join()).toContain(ESCAPE);
    expect((await show(120, list, { TERM: 'dumb' })).lines.join()).not.toContain(ESCAPE);
    expect((await show(120, list, { NO_COLOR: '1' })).lines.join()).not.toContain(ESCAPE);
  });
});

test('how many results there are is said on standard error, so that programs read the rows alone', async () => {
  const { stdout, stderr } = await commandLine(environment)(['deliveries', 'list', '--limit', '1']);
  expect(stdout.trimEnd().split('\n')).toHaveLength(2);
  expect(stderr).toBe('1 of 3; see the others with --page and --limit\n');
});
