import { expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { createHttpClient } from '../../src/delivery/http/client.ts';
import { createSender, type OutgoingRequest, type Sender } from '../../src/delivery/sender.ts';
import type { Database } from '../../src/store/database/database.ts';
import { startReceiver } from '../delivery/receivers.ts';
import { acceptMany, newReceiver, readAttempts, readDeliveries, withEngine } from '../support/deliveries.ts';
import { onEveryEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';

/** What is left over of one response must not become the response to another request, or a delivery is lost unnoticed. */

const SETTINGS = {
  ALLOW_INSECURE_TARGETS: 'true',
  DELIVERY_TIMEOUT: '60s',
  RETRY_SCHEDULE: '0s,1h',
  DESTINATION_CONCURRENCY: '1',
};
/** Of the request that gets no response. The other one has a deadline that a busy machine does not reach. */
const SHORT_DEADLINE_MS = 1_000;
const FORGED = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';

/** Responds to the first request on a connection, and to no other. When another one comes, sends what is left over. */
function respondsOnceWith(text: string) {
  const seen = new Set<Socket>();
  return (socket: Socket) => {
    socket.write(seen.has(socket) ? FORGED : text);
    seen.add(socket);
  };
}

const toAttemptEach = (db: Database, entityId: string, count: number) =>
  until('each delivery was attempted', async () => (await readAttempts(db, entityId)).length >= count);

/** One client and its connections for both kinds of requests. */
function senderWith(mayTimeOut: (request: OutgoingRequest) => boolean): Sender {
  const client = createHttpClient();
  const withDeadline = (timeoutMs: number) =>
    createSender({ timeoutMs, allowInsecureTargets: true, userAgent: 'Paybell/test', client });
  const [hurried, patient] = [withDeadline(SHORT_DEADLINE_MS), withDeadline(60_000)];
  return { send: (request) => (mayTimeOut(request) ? hurried : patient).send(request) };
}

onEveryEngine('a delivery is not recorded as delivered by what is left over', (store) => {
  test('of the body of a 204', async () => {
    const text = `HTTP/1.1 204 No Content\r\ncontent-length: ${FORGED.length}\r\n\r\n`;
    const respond = respondsOnceWith(text);
    let requests = 0;
    // The second request gets no response, on whichever connection it comes.
    await using receiver = await startReceiver((socket) => {
      requests++;
      if (requests === 1 || receiver.connections === 1) respond(socket);
    });
    const { entityId } = await newReceiver(store.db, `http://127.0.0.1:${receiver.port}/`);
    await acceptMany(store.db, entityId, 2);
    let sent = 0;
    const sender = senderWith(() => ++sent > 1);
    await withEngine(store.db, sender, () => toAttemptEach(store.db, entityId, 2), { settings: SETTINGS });
    const attempts = await readAttempts(store.db, entityId);
    expect(attempts).toMatchObject([{ statusCode: 204 }, { statusCode: null, error: 'timeout' }]);
    const statuses = (await readDeliveries(store.db, entityId)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual(['delivered', 'retrying']);
  });

  test("of another entity's response from the same host", async () => {
    const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
    const respond = respondsOnceWith(ok);
    await using receiver = await startReceiver((socket, request) => {
      if (request.startsWith('POST /attacker ') || receiver.connections === 1) respond(socket);
    });
    const host = `http://127.0.0.1:${receiver.port}`;
    const shared = senderWith(({ postUrl }) => postUrl.endsWith('/victim'));
    const attacker = await newReceiver(store.db, `${host}/attacker`);
    const victim = await newReceiver(store.db, `${host}/victim`);
    await withEngine(
      store.db,
      shared,
      async () => {
        for (const { entityId } of [attacker, victim]) {
          await acceptMany(store.db, entityId, 1);
          await toAttemptEach(store.db, entityId, 1);
        }
      },
      { settings: SETTINGS },
    );
    expect(await readDeliveries(store.db, attacker.entityId)).toMatchObject([{ status: 'delivered' }]);
    expect(await readDeliveries(store.db, victim.entityId)).toMatchObject([{ status: 'retrying' }]);
  });
});
