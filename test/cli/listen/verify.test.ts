import { afterAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeSecret, sign } from '../../../src/domain/signing.ts';
import { type CommandLine, commandLine } from '../../support/command-line.ts';
import { Ledger } from '../../support/ledger.ts';
import { tempFolder } from '../../support/paybell.ts';
import { serviceOfFile } from '../../support/service-of-file.ts';
import { until } from '../../support/until.ts';

const SECRET = makeSecret(Buffer.alloc(32, 5));
const OTHER = makeSecret(Buffer.alloc(32, 6));
const folder = tempFolder();
const offline: CommandLine = commandLine({ HOME: folder.path });

function save(name: string, content: string | Uint8Array): string {
  const path = join(folder.path, name);
  writeFileSync(path, content);
  return path;
}

/** A request of that age, saved as a body and a file of headers. */
function saveRequest(ageS: number): { body: string; headers: string } {
  const timestampS = Math.floor(Date.now() / 1000) - ageS;
  const body = '{"event":"LatePayment",  "networkId":1}';
  const signature = sign({ id: 'dlv_1', timestampS, body, secrets: [SECRET] });
  const lines = ['POST /hook HTTP/1.1', 'Webhook-Id: dlv_1', `> webhook-timestamp: ${timestampS}`];
  return {
    body: save('body.json', body),
    headers: save('headers.txt', [...lines, `webhook-signature: ${signature}`, ''].join('\r\n')),
  };
}

const service = serviceOfFile();
afterAll(() => folder.remove());

describe('paybell verify', () => {
  test('accepts a saved request of any age, and says when receivers would not', async () => {
    const recent = saveRequest(2);
    const args = ['verify', recent.body, '--headers', recent.headers, '--secret', OTHER, '--secret', SECRET];
    const now = await offline(args);
    expect(now).toMatchObject({ exitCode: 0, stderr: '' });
    expect(now.stdout).toMatch(/^verified: LatePayment, dlv_1, signed \d+ s ago\n$/);
    saveRequest(7_200);
    expect(await offline(args)).toEqual({
      exitCode: 0,
      stdout: 'verified: LatePayment, dlv_1, signed 2 h ago\n',
      stderr: 'A receiver would reject it now: most allow 5 minutes.\n',
    });
  });

  test('says why a request is not verified', async () => {
    const { body, headers } = saveRequest(0);
    const wrongSecret = await offline(['verify', body, '--headers', headers, '--secret', OTHER]);
    expect(wrongSecret).toMatchObject({ exitCode: 1, stdout: '' });
    expect(wrongSecret.stderr).toContain('error: not verified: no signature matches');
    const missing = await offline(['verify', body, '--header', 'webhook-id: dlv_1', '--secret', SECRET]);
    expect(missing.stderr).toContain('a header is missing (webhook-timestamp)');
    expect((await offline(['verify', join(folder.path, 'none'), '--secret', SECRET])).stderr).toContain('cannot read');
    expect(await offline(['verify', body, '--headers', headers])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('give --secret'),
    });
  });

  test('a server that cannot be asked for its secrets is a failure of its own, not wrong usage', async () => {
    const { body, headers } = saveRequest(1);
    const { entityId } = service().first;
    const settings = { PAYBELL_ENTITY_ID: entityId, PAYBELL_API_KEY: `pbk_${'x'.repeat(36)}` };
    const verifying = ['verify', body, '--headers', headers, '--json'];
    const down = await commandLine({ ...settings, PAYBELL_URL: 'http://127.0.0.1:1' })(verifying);
    expect([down.exitCode, JSON.parse(down.stdout || down.stderr)]).toMatchObject([
      1,
      { error: { code: 'connection_failed' } },
    ]);
    const refused = await commandLine({ ...settings, PAYBELL_URL: service().client().url })(verifying);
    expect([refused.exitCode, JSON.parse(refused.stdout || refused.stderr)]).toMatchObject([
      1,
      { error: { code: 'unauthenticated' } },
    ]);
  });

  test('reads the secrets of the server, and the body from standard input', async () => {
    await using receiver = new Ledger();
    const client = service().client();
    await client.register(receiver.url());
    await client.send({ eventId: 'saved-1' });
    await until('it has arrived', () => receiver.requests.length === 1);
    const [request] = receiver.requests;
    const lines = Object.entries(request?.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
    const { entityId, apiKey } = service().first;
    const online = commandLine({ PAYBELL_URL: client.url, PAYBELL_ENTITY_ID: entityId, PAYBELL_API_KEY: apiKey });
    const headers = save('received.txt', lines.join('\n'));
    const { exitCode, stdout } = await online(['verify', '-', '--headers', headers, '--json'], request?.body);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ verified: true, deliveryId: request?.deliveryId, event: 'LatePayment' });
  });
});
