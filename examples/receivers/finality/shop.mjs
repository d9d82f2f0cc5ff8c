// Derives the state of each payment from the events that were not retracted.
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.SECRET);

// In production: a table of events with the event id as its key, and a table of retracted ids.
const published = new Map();
const retracted = new Set();

function handle(eventId, event) {
  if (event.event === 'EventRetracted') retracted.add(event.retracts.eventId);
  else if (event.transferId) published.set(eventId, { transferId: event.transferId, kind: event.event });
}

function stateOf(transferId) {
  const kinds = [...published]
    .filter(([eventId, event]) => event.transferId === transferId && !retracted.has(eventId))
    .map(([, event]) => event.kind);
  if (kinds.includes('TransferFinalized')) return 'paid: ship it';
  return kinds.includes('TransferProcessed') ? 'seen: say so, and wait' : 'open: wait for the payment';
}

createServer(async (request, response) => {
  try {
    const event = webhook.verify(Buffer.concat(await request.toArray()).toString(), request.headers);
    handle(request.headers['paybell-event-id'], event);
    response.writeHead(204).end();
    if (event.transferId) console.log(event.event, '->', stateOf(event.transferId));
  } catch {
    response.writeHead(401).end();
  }
}).listen(3000, '127.0.0.1', () => console.log('listening on http://127.0.0.1:3000'));
