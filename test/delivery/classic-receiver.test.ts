import { describe, expect, test } from 'bun:test';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { startTestService } from '../support/service.ts';
import { createTarget } from '../support/stores.ts';
import { until } from '../support/until.ts';

/**
 * A receiver as integrators of the service that the contract comes from have written it: the secret is a text from their
 * configuration, and goes into the HMAC as it is.
 */
function startClassicReceiver(secret: string) {
  const verdicts: boolean[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const rawBody = Buffer.from(await request.arrayBuffer());
      const expected = createHmac('sha256', secret).update(rawBody).digest('base64');
      const given = request.headers.get('x-hook-signature') ?? '';
      const holds = given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
      verdicts.push(holds);
      return new Response(null, { status: holds ? 204 : 401 });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/hook`, verdicts, stop: () => server.stop(true) };
}

const WHSEC = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
const HEX = Buffer.alloc(32, 4).toString('hex');
const TEXT = 'sk_live_9f8e7d6c5b4a';

/** Whether the receiver that holds the secret accepts a request, with that setting and that import. */
async function accepts(form: string, imported: { secret: string; format?: string }, held: string): Promise<boolean> {
  const { url, remove } = await createTarget('sqlite');
  const receiver = startClassicReceiver(held);
  try {
    await using service = await startTestService(url, {
      RETRY_SCHEDULE: '0s',
      BODY_SIGNATURE_HEADER: 'x-hook-signature',
      BODY_SIGNATURE_KEY: form,
    });
    const client = service.client();
    expect((await client.request('PUT', '/webhooks/secret', JSON.stringify(imported))).status).toBe(200);
    await client.register(receiver.url);
    await client.send({ note: 'Ünïcödé' });
    await until('it has arrived', () => receiver.verdicts.length === 1);
    return receiver.verdicts[0] === true;
  } finally {
    receiver.stop();
    remove();
  }
}

describe('a receiver written for the service before, whose secret was imported', () => {
  test.each([
    ['a text', { secret: TEXT }, TEXT],
    ['hex', { secret: HEX, format: 'hex' }, HEX],
    ['whsec_', { secret: WHSEC }, WHSEC],
  ])('verifies with the text of its secret, if that is %s', async (_what, imported, held) => {
    expect(await accepts('text', imported, held)).toBe(true);
  });

  test('does not verify with BODY_SIGNATURE_KEY=bytes, where the key is what the text encodes', async () => {
    expect(await accepts('bytes', { secret: WHSEC }, WHSEC)).toBe(false);
  });
});
