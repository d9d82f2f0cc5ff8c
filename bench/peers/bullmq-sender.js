import { createHmac, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { Queue, Worker } from 'bullmq';

/**
 * What a competent team would write in an afternoon: webhooks with BullMQ on Node, a job for each receiver of an event.
 * `node bullmq-sender.js '{"redisPort": 6379, "receivers": {"TransferCreated": ["http://…"]}}'`
 */

const { redisPort, receivers } = JSON.parse(process.argv[2] ?? '{}');
/** As many requests at a time as Paybell sends to one destination, for each of ten. */
const CONCURRENCY = 160;
const ACCEPTED = 202;
const key = randomBytes(32);
const connection = { host: '127.0.0.1', port: redisPort, maxRetriesPerRequest: null };

const queue = new Queue('webhooks', {
  connection,
  defaultJobOptions: { attempts: 8, backoff: { type: 'exponential', delay: 5_000 }, removeOnComplete: true },
});

new Worker(
  'webhooks',
  async ({ id, data: { url, body } }) => {
    const timestamp = Math.floor(Date.now() / 1_000);
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${signature}`,
    };
    const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(15_000) });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${url} returned ${response.status}`);
  },
  { connection, concurrency: CONCURRENCY },
);

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  if (request.method !== 'POST') return response.end('ok');
  const body = Buffer.concat(chunks).toString();
  const urls = receivers[JSON.parse(body).event] ?? [];
  await queue.addBulk(urls.map((url) => ({ name: 'send', data: { url, body } })));
  response.writeHead(ACCEPTED, { 'content-type': 'application/json' }).end('{}');
});
await queue.waitUntilReady();
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
