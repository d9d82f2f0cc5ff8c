import { createServer } from 'node:http';
import { Paybell, ProblemError, type Webhook } from '@paybell/client';
import { type PaybellEvent, VerificationError, verify } from '@paybell/client/verify';

/** What an integrator would write, copied into a project of its own by a test: registers, publishes, verifies, lists. */

const { URL: url = '', ENTITY_ID: entityId = '', API_KEY: apiKey = '' } = process.env;
const client = new Paybell({ url, entityId, apiKey });
const { secrets } = await client.secrets.list();
const keys = secrets.map(({ secret }) => secret);

let take: (event: PaybellEvent) => void = () => undefined;
const arrived = new Promise<PaybellEvent>((resolve) => {
  take = resolve;
});

const receiver = createServer((request, response) => {
  const parts: Uint8Array[] = [];
  request.on('data', (part: Uint8Array) => parts.push(part));
  request.on('end', async () => {
    const body = Buffer.concat(parts);
    const forged = await verify(`${body} `, request.headers, keys).catch((error: unknown) => error);
    if (forged instanceof VerificationError && forged.reason === 'no_match') {
      take(await verify(body, request.headers, keys));
    }
    response.end();
  });
});
await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
const address = receiver.address();
const port = typeof address === 'object' ? address?.port : 0;

await client.webhooks.register({ postUrl: `http://127.0.0.1:${port}/hook`, networkIds: [1], events: ['LatePayment'] });
await client.events.publish({ event: 'LatePayment', networkId: 1, amount: '25.00', daysLate: 3 });
const event = await arrived;

const webhooks: Webhook[] = [];
for await (const webhook of client.webhooks.listAll({ event: 'LatePayment' })) webhooks.push(webhook);
const problem = await client.webhooks.get('wh_none').catch((error: unknown) => error);

const daysLate = event.event === 'LatePayment' ? event.daysLate.toFixed(1) : null;
const code = problem instanceof ProblemError ? problem.code : null;
const found = webhooks.some(({ postUrl }) => postUrl.includes(`:${port}/`));
process.stdout.write(JSON.stringify({ daysLate, found, code }));
process.exit(0);
