import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseKeys, signSequence, signWith } from '../../src/domain/signing.ts';
import { freePort } from '../support/free-port.ts';
import { GO, needs, PYTHON } from '../support/requirements.ts';
import { tempBase } from '../support/temp-base.ts';
import { until } from '../support/until.ts';

const RECEIVERS = resolve(import.meta.dir, '../../examples/receivers/repair');
const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const ENDPOINT = 'ep_0000b1946ac92d';

const folder = mkdtempSync(join(tempBase(), 'paybell-repair-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The program as one file, with another port than its own. */
async function prepare(file: string, port: number): Promise<string> {
  const source = Bun.file(join(RECEIVERS, file));
  const built = file.endsWith('.mjs')
    ? (await Bun.build({ entrypoints: [join(RECEIVERS, file)], target: 'node', format: 'esm' })).outputs[0]
    : source;
  const copy = join(folder, file);
  await Bun.write(copy, ((await built?.text()) ?? '').replace(/\b300[01]\b/g, String(port)));
  return copy;
}

async function sendFirst(port: number): Promise<void> {
  const body = JSON.stringify({ event: 'TransferCreated' });
  const timestampS = Math.floor(Date.now() / 1000);
  const keys = parseKeys([SECRET]);
  const headers = {
    'webhook-id': 'dlv_1',
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signWith(keys, { id: 'dlv_1', timestampS, body }),
    'paybell-endpoint': ENDPOINT,
    'paybell-sequence': '1',
    'paybell-sequence-signature': signSequence(keys, { id: 'dlv_1', endpointId: ENDPOINT, sequence: 1 }),
  };
  const send = () => fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST', headers, body });
  await until('it takes the request', async () => (await send().catch(() => null))?.status === 204);
}

async function passesOver(file: string, command: string): Promise<void> {
  const port = freePort();
  const entry = (sequence: number, status: string) => {
    const body = JSON.stringify({ event: `Transfer ${status}` });
    return { sequence, status, body, deliveryId: `dlv_${sequence}`, eventId: null, event: null, networkId: 1 };
  };
  const deliveries = [entry(2, 'superseded'), entry(3, 'cancelled'), entry(4, 'failed')];
  await using api = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => Response.json({ firstSequence: 1, lastSequence: 4, deliveries }),
  });
  const child = Bun.spawn([command, await prepare(file, port)], {
    env: {
      PATH: process.env.PATH ?? '',
      ...{ SECRET, PAYBELL_URL: api.url.origin, PAYBELL_ENTITY_ID: 'ent_1', PAYBELL_API_KEY: 'pbk_1' },
    },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  let printed = '';
  const reading = (async () => {
    for await (const part of child.stdout) printed += new TextDecoder().decode(part);
  })();
  try {
    await sendFirst(port);
    await until('it has read the feed', () => printed.includes('Transfer failed'));
  } finally {
    child.kill();
    await Promise.all([child.exited, reading]);
  }
  expect(printed.match(/^received.*|^repaired.*/gm)).toEqual([
    'received 1 TransferCreated',
    'repaired 4 Transfer failed',
  ]);
}

test.skipIf(!GO.isMet).each(['repair', 'verify'])(
  `the %s receiver in Go does not start without a secret ${needs(GO)}`,
  async (name) => {
    const source = await Bun.file(resolve(RECEIVERS, '..', name, 'receiver.go')).text();
    // The library is not on this machine, and a start that fails does not need it.
    const alone = source
      .replace(/^\tstandardwebhooks .*\n/m, '')
      .replace('standardwebhooks.NewWebhook(secret)', 'struct{ Verify func([]byte, http.Header) error }{}, error(nil)');
    await Bun.write(join(folder, name, 'receiver.go'), alone);
    const child = Bun.spawn(['go', 'run', 'receiver.go'], {
      cwd: join(folder, name),
      env: { ...process.env, GO111MODULE: 'off', SECRET: '' },
      stderr: 'pipe',
    });
    expect(await new Response(child.stderr).text()).toContain('set SECRET');
    expect(await child.exited).toBe(1);
  },
);

test('the receiver for Node passes over events of the feed that are gone', () => passesOver('receiver.mjs', 'node'));

test.skipIf(!PYTHON.isMet)(`the receiver in Python passes over events of the feed that are gone ${needs(PYTHON)}`, () =>
  passesOver('receiver.py', 'python3'),
);
