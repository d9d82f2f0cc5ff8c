// Verifies each request and its sequence number, and reads missing deliveries from the feed.
import { createServer } from 'node:http';
import { Paybell } from '@paybell/client';
import { checkSequence, SequenceTracker, verify } from '@paybell/client/verify';

const { PAYBELL_URL: url, PAYBELL_ENTITY_ID: entityId, PAYBELL_API_KEY: apiKey, SECRET, FORGET } = process.env;
const client = new Paybell({ url, entityId, apiKey });
const trackers = new Map();

function handleOnce(endpointId, sequence, event, how) {
  if (!trackers.has(endpointId)) trackers.set(endpointId, new SequenceTracker());
  if (trackers.get(endpointId).add(sequence)) console.log(how, sequence, event?.event);
}

createServer(async (request, response) => {
  try {
    const event = await verify(Buffer.concat(await request.toArray()), request.headers, SECRET);
    const received = await checkSequence(request.headers, SECRET);
    response.writeHead(204).end();
    if (received === null || received.sequence === Number(FORGET)) return;
    handleOnce(received.endpointId, received.sequence, event, 'received');
  } catch (error) {
    response.writeHead(error.status ?? 500).end();
  }
}).listen(3000, '127.0.0.1', () => console.log('listening on http://127.0.0.1:3000'));

for (;;) {
  await new Promise((resolve) => setTimeout(resolve, 1000));
  for (const [endpointId, tracker] of trackers) {
    try {
      const { firstSequence, deliveries } = await client.endpoints.readFeed(endpointId, { after: tracker.through });
      tracker.skipThrough(firstSequence - 1);
      for (const { sequence, status, body } of deliveries) {
        // Events that a later one replaced, or whose payment is gone.
        const isTrue = body !== null && status !== 'superseded' && status !== 'cancelled';
        handleOnce(endpointId, sequence, isTrue ? JSON.parse(body) : null, isTrue ? 'repaired' : 'passed over');
      }
    } catch (error) {
      console.log('try again:', error.message);
    }
  }
}
