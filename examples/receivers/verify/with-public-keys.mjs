// Verifies each request with the entity's public keys (KEY_SET is their URL).
import { createPublicKey, verify } from 'node:crypto';
import { createServer } from 'node:http';

async function loadKeys() {
  const { keys } = await (await fetch(process.env.KEY_SET)).json();
  return keys.map((key) => createPublicKey({ key, format: 'jwk' }));
}

// Loaded again every five minutes, as long as caches may keep it: rotated keys overlap for longer.
let publicKeys = await loadKeys();
setInterval(
  () =>
    loadKeys().then((keys) => {
      publicKeys = keys;
    }, console.error),
  300_000,
);

function isVerified(headers, rawBody) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures = '' } = headers;
  const isRecent = Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300;
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), rawBody]);
  const isMatch = (text) => publicKeys.some((key) => verify(null, signed, key, Buffer.from(text.slice(4), 'base64')));
  return isRecent && signatures.split(' ').some((text) => text.startsWith('v1a,') && isMatch(text));
}

createServer(async (request, response) => {
  const rawBody = Buffer.concat(await request.toArray());
  if (!isVerified(request.headers, rawBody)) return response.writeHead(401).end();
  console.log('verified', JSON.parse(rawBody).event, request.headers['webhook-id']);
  response.writeHead(204).end();
}).listen(3003, '127.0.0.1', () => console.log('listening on http://127.0.0.1:3003'));
