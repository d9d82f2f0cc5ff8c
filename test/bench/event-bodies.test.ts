import { afterAll, beforeEach, expect, test } from 'bun:test';
import { eventBody, eventTemplates, nextSubjects } from '../../bench/harness/event-bodies.ts';
import { runAmount } from '../../bench/load/load.ts';
import { sendPaced } from '../../bench/load/paced.ts';

/** Bodies that arrived, each parsed. */
const received: { transferId: string; agreementId?: string; sentAtMs: number }[] = [];
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    received.push((await request.json()) as (typeof received)[number]);
    return new Response('{}', { status: 202 });
  },
});
const url = `${server.url.href}events`;
const headers = { 'content-type': 'application/json' };
const bodies = eventTemplates('TransferCreated');

beforeEach(() => {
  received.length = 0;
});

afterAll(() => server.stop(true));

function expectDistinct(subjects: readonly { transferId: string; agreementId?: string }[]): void {
  expect(new Set(subjects.map(({ transferId }) => transferId)).size).toBe(subjects.length);
  const agreements = subjects.flatMap(({ agreementId }) => agreementId ?? []);
  expect(Math.abs(agreements.length - subjects.length / 4)).toBeLessThanOrEqual(1);
  expect(new Set(agreements).size).toBe(agreements.length);
}

test('bodies that a bench makes itself are about another transfer each, one in four about an agreement', () => {
  const made = Array.from({ length: 400 }, () => JSON.parse(eventBody('TransferCreated')));
  expectDistinct([...made, ...Array.from({ length: 400 }, nextSubjects)]);
});

test('the load generator sends another transfer each time, in every run', async () => {
  const callers = [{ entityId: 'ent_1', apiKey: 'key' }];
  for (const amount of [150, 250])
    await runAmount({ url, method: 'POST', headers, bodies, callers, connections: 4 }, amount);
  expect(received.length).toBeGreaterThanOrEqual(400);
  // Requests in flight at the end of a run may be lost, with or without an agreement.
  const transfers = received.map(({ transferId }) => transferId);
  expect(new Set(transfers).size).toBe(transfers.length);
  const agreements = received.flatMap(({ agreementId }) => agreementId ?? []);
  expect(Math.abs(agreements.length - received.length / 4)).toBeLessThanOrEqual(8);
});

test('requests at a fixed rate are about another transfer each, and carry the time at which they were due', async () => {
  const startedAtMs = Date.now();
  for (let round = 0; round < 2; round++) {
    await sendPaced({ request: { url, headers, bodies }, perSecond: 1_000, seconds: 0.2 });
  }
  expect(received).toHaveLength(400);
  expectDistinct(received);
  expect(received.every(({ sentAtMs }) => sentAtMs >= startedAtMs - 1)).toBe(true);
});
