import { createHash, randomUUID } from 'node:crypto';
import Fastify from 'fastify';
import pg from 'pg';

/**
 * What a competent team would write in an afternoon: the list operation with Fastify and pg on Node, on Paybell's own
 * tables. `node fastify-pg.js '{"databaseUrl": "postgres://…"}'`
 */

const { databaseUrl } = JSON.parse(process.argv[2] ?? '{}');
const pool = new pg.Pool({ connectionString: databaseUrl, max: 16 });
// pg returns 64-bit integers as text by default; all of these fit a number.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

const EVENTS = [
  'AgreementSignedUp',
  'AgreementCancelled',
  'ScheduledAgreementCancel',
  'TransferProcessed',
  'TransferCreated',
  'TransferFinalized',
  'LatePayment',
];
const wholeNumber = { type: 'string', pattern: '^[0-9]{1,16}$' };

const querystring = {
  type: 'object',
  additionalProperties: false,
  properties: {
    webhookId: { type: 'string', pattern: '^[^\\u0000]+$' },
    networkId: wholeNumber,
    event: { type: 'string', enum: EVENTS },
    page: { type: 'string', pattern: '^0*[1-9][0-9]{0,13}$' },
    limit: { type: 'string', pattern: '^0*([1-9][0-9]?|100)$' },
    sortBy: { type: 'string', enum: ['postUrl', 'dateCreated'] },
    sortDir: { type: 'string', enum: ['asc', 'desc'] },
  },
};

const listResponse = {
  type: 'object',
  properties: {
    totalResults: { type: 'integer' },
    webhooks: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          webhookId: { type: 'string' },
          networkId: { type: 'integer' },
          event: { type: 'string' },
          postUrl: { type: 'string' },
          dateCreated: { type: 'integer' },
        },
      },
    },
  },
};

const app = Fastify({
  genReqId: () => randomUUID(),
  ajv: { customOptions: { removeAdditional: false, coerceTypes: false, allErrors: true } },
});

app.setErrorHandler((error, request, reply) => {
  const status = error.validation ? 400 : (error.statusCode ?? 500);
  return reply
    .code(status)
    .header('content-type', 'application/problem+json')
    .send({
      type: 'about:blank',
      status,
      title: status >= 500 ? 'Internal error' : error.message,
      requestId: request.id,
    });
});

app.addHook('onRequest', async (request, reply) => {
  reply.header('x-request-id', request.id);
});

function reject(statusCode, message) {
  throw Object.assign(new Error(message), { statusCode });
}

/** A name makes pg prepare the statement once on each connection; PostgreSQL cuts names at 63 characters. */
function prepared(text, values) {
  return pool.query({ name: createHash('md5').update(text).digest('hex'), text, values });
}

async function authenticate(request) {
  const { 'api-key': apiKey, 'entity-id': entityId } = request.headers;
  if (!apiKey || !entityId) reject(401, 'Send api-key and entity-id.');
  const { rows } = await prepared(
    `select entity_id, permissions from api_keys
     where key_hash = $1 and revoked_at is null and (expires_at is null or expires_at > $2)`,
    [createHash('sha256').update(apiKey).digest('hex'), Math.floor(Date.now() / 1000)],
  );
  if (rows.length === 0) reject(401, 'The api-key is not valid.');
  if (rows[0].entity_id !== entityId) reject(403, 'The api-key does not belong to this entity.');
  if (!rows[0].permissions.split(',').includes('webhooks:read')) reject(403, 'webhooks:read is missing.');
  request.entityId = entityId;
}

const ORDER = { dateCreated: ['created_seq'], postUrl: ['post_url', 'id'] };

async function list(entityId, query) {
  const limit = Number(query.limit ?? 25);
  const offset = (Number(query.page ?? 1) - 1) * limit;
  const direction = query.sortDir ?? 'desc';
  const values = [entityId];
  let where = 'entity_id = $1';
  const filters = { id: query.webhookId, network_id: query.networkId, event: query.event };
  for (const [column, value] of Object.entries(filters)) {
    if (value !== undefined) where += ` and ${column} = $${values.push(value)}`;
  }
  const order = ORDER[query.sortBy ?? 'dateCreated'].map((column) => `${column} ${direction}`).join(', ');
  const [count, page] = await Promise.all([
    prepared(`select count(*) as total from webhooks where ${where}`, values),
    prepared(
      `select id as "webhookId", network_id as "networkId", event, post_url as "postUrl", created_at as "dateCreated"
       from webhooks where ${where} order by ${order} limit $${values.length + 1} offset $${values.length + 2}`,
      [...values, limit, offset],
    ),
  ]);
  return { totalResults: count.rows[0].total, webhooks: page.rows };
}

app.get('/api/v1/crypto/webhooks/classic', {
  schema: { querystring, response: { 200: listResponse } },
  preValidation: authenticate,
  handler: (request) => list(request.entityId, request.query),
  onSend: async (request, reply, body) => {
    if (reply.statusCode !== 200 || typeof body !== 'string') return body;
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
    reply.headers({ etag, vary: 'api-key, entity-id', 'cache-control': 'private, no-cache' });
    reply.header('content-type', 'application/json');
    if (request.headers['if-none-match'] !== etag) return body;
    reply.code(304);
    return null;
  },
});

app.route({
  method: ['POST', 'PUT', 'PATCH', 'DELETE'],
  url: '/api/v1/crypto/webhooks/classic',
  handler: (_request, reply) => {
    reply.header('allow', 'GET, HEAD');
    reject(405, 'This path takes GET, HEAD.');
  },
});

console.log(`listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}`);
