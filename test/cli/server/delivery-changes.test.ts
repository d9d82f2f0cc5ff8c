import { describe, expect, test } from 'bun:test';
import { DeliveryChanges, type DeliverySource } from '../../../src/cli/server/delivery-changes.ts';
import type { Delivery, DeliveryListQuery } from '../../../src/client/deliveries.ts';
import { ProblemError } from '../../../src/client/errors.ts';

/** A server that holds deliveries, newest first, and counts what it is asked. */
class Server implements DeliverySource {
  readonly held: Delivery[] = [];
  asked: string[] = [];

  add(count: number, status: Delivery['status'] = 'delivered', dateNextAttempt: number | null = null): void {
    for (let made = 0; made < count; made++) {
      this.held.unshift({
        deliveryId: `dlv_${String(this.held.length).padStart(6, '0')}`,
        kind: 'event',
        eventId: 'evt_1',
        webhookId: 'wh_1',
        event: 'LatePayment',
        networkId: 1,
        postUrl: 'https://example.com/',
        status,
        attempts: 1,
        dateCreated: 1,
        dateNextAttempt,
        dateDelivered: null,
        lastStatusCode: 200,
        lastError: null,
        endpointId: null,
        sequence: null,
        supersededBy: null,
        retractedBy: null,
        waitsFor: null,
        summary: null,
      });
    }
  }

  async list({ page = 1, limit = 25 }: DeliveryListQuery) {
    this.asked.push(`page ${page}`);
    const deliveries = this.held.slice((page - 1) * limit, page * limit);
    return { totalResults: this.held.length, deliveries, searched: null };
  }

  async get(deliveryId: string) {
    this.asked.push(deliveryId);
    const found = this.held.find((delivery) => delivery.deliveryId === deliveryId);
    if (found !== undefined) return { ...found, body: '{}', retractedBy: null, factId: null, attemptLog: [] };
    const problem = { type: '', title: '', status: 404, detail: '', code: 'not_found', requestId: null };
    throw new ProblemError(problem, null);
  }

  change(deliveryId: string, changes: Partial<Delivery>): void {
    const index = this.held.findIndex((delivery) => delivery.deliveryId === deliveryId);
    this.held[index] = { ...(this.held[index] as Delivery), ...changes };
  }
}

const ids = (deliveries: readonly Delivery[]) => deliveries.map(({ deliveryId }) => Number(deliveryId.slice(4)));

describe('tail', () => {
  test('begins with the newest, oldest first, and then shows only what is new', async () => {
    const server = new Server();
    server.add(30);
    const changes = new DeliveryChanges(server, {});
    expect(ids(await changes.first(3))).toEqual([27, 28, 29]);
    expect(await changes.next(0)).toEqual([]);
    server.add(2);
    expect(ids(await changes.next(0))).toEqual([30, 31]);
    expect(server.asked).toEqual(['page 1', 'page 1', 'page 1']);
  });

  test('with no lines to begin with shows none of the old ones, then or later', async () => {
    const server = new Server();
    server.add(5);
    const changes = new DeliveryChanges(server, {});
    expect([await changes.first(0), await changes.next(0)]).toEqual([[], []]);
  });

  test('shows a delivery again when its state or its attempts change, without body and log', async () => {
    const server = new Server();
    const changes = new DeliveryChanges(server, {});
    await changes.first(0);
    server.add(1, 'pending', 5);
    expect((await changes.next(0)).map(({ status }) => status)).toEqual(['pending']);
    server.change('dlv_000000', { status: 'delivered', dateNextAttempt: null });
    expect((await changes.next(0)).map(({ status }) => status)).toEqual(['delivered']);
  });

  test('misses none when more came than a page holds, and asks for no page too many', async () => {
    const server = new Server();
    server.add(10);
    const changes = new DeliveryChanges(server, {});
    await changes.first(0);
    server.asked = [];
    server.add(250);
    expect(ids(await changes.next(0))).toEqual(Array.from({ length: 250 }, (_, index) => index + 10));
    expect(server.asked).toEqual(['page 1', 'page 2', 'page 3']);
  });

  test('looks at every retry in turn where more are overdue than it reads at a poll', async () => {
    const server = new Server();
    server.add(11, 'retrying', 100);
    const changes = new DeliveryChanges(server, {});
    await changes.first(0);
    server.add(100);
    await changes.next(50);
    server.change('dlv_000010', { status: 'delivered', attempts: 2, dateNextAttempt: null });
    const shown = [...(await changes.next(100)), ...(await changes.next(101))];
    expect(ids(shown)).toEqual([10]);
  });

  test('looks at a retry that has left the newest page when it is due, and not before', async () => {
    const server = new Server();
    server.add(1, 'retrying', 100);
    const changes = new DeliveryChanges(server, {});
    await changes.first(0);
    server.add(100);
    await changes.next(50);
    server.change('dlv_000000', { status: 'delivered', attempts: 2, dateNextAttempt: null });
    expect(await changes.next(99)).toEqual([]);
    server.asked = [];
    const [changed] = await changes.next(100);
    expect(changed).toEqual(server.held.at(-1) as Delivery);
    expect(server.asked).toEqual(['page 1', 'dlv_000000']);
    server.asked = [];
    expect(await changes.next(200)).toEqual([]);
    expect(server.asked).toEqual(['page 1']);
  });

  test('forgets one that is past its retention, and says nothing of it', async () => {
    const server = new Server();
    server.add(1, 'retrying', 100);
    const changes = new DeliveryChanges(server, {});
    await changes.first(0);
    server.add(100);
    server.held.pop();
    await changes.next(50);
    expect(await changes.next(100)).toEqual([]);
    server.asked = [];
    await changes.next(200);
    expect(server.asked).toEqual(['page 1']);
  });

  test('passes on the filter', async () => {
    const asked: DeliveryListQuery[] = [];
    const server = new Server();
    const list = (query: DeliveryListQuery) => {
      asked.push(query);
      return server.list(query);
    };
    const changes = new DeliveryChanges({ list, get: (id) => server.get(id) }, { event: 'LatePayment', networkId: 1 });
    await changes.first(1);
    await changes.next(0);
    expect(asked).toEqual([
      { event: 'LatePayment', networkId: 1, limit: 100 },
      { event: 'LatePayment', networkId: 1, page: 1, limit: 100 },
    ]);
  });
});
