// Verifies each request with a signing secret of the entity (SECRET).
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.SECRET);

createServer(async (request, response) => {
  const rawBody = Buffer.concat(await request.toArray()).toString();
  try {
    const event = webhook.verify(rawBody, request.headers);
    console.log('verified', event.event, request.headers['webhook-id']);
    response.writeHead(204).end();
  } catch {
    response.writeHead(401).end();
  }
}).listen(3000, '127.0.0.1', () => console.log('listening on http://127.0.0.1:3000'));
