import { expect, test } from 'bun:test';
import { Semaphore } from '../../../src/store/database/admission.ts';
import { StoreUnavailableError } from '../../../src/store/database/database.ts';
import { rejection } from '../../support/rejection.ts';

const LONG_MS = 60_000;

test('a semaphore admits as many callers as it is wide, and the next when one leaves', async () => {
  const gate = new Semaphore(2, 10);
  const inside: string[] = [];
  const leaveA = await gate.enter(LONG_MS);
  await gate.enter(LONG_MS);
  const third = gate.enter(LONG_MS).then(() => inside.push('third'));
  await Bun.sleep(0);
  expect(inside).toEqual([]);
  leaveA();
  await third;
  expect(inside).toEqual(['third']);
});

test('waiting callers are admitted in their order of arrival', async () => {
  const gate = new Semaphore(1, 10);
  const order: number[] = [];
  const leave = await gate.enter(LONG_MS);
  const waiting = [1, 2, 3].map(async (number) => {
    const leaveNext = await gate.enter(LONG_MS);
    order.push(number);
    leaveNext();
  });
  leave();
  await Promise.all(waiting);
  expect(order).toEqual([1, 2, 3]);
});

test('a caller of an entity that was not admitted lately is next, whatever waits for other entities', async () => {
  const gate = new Semaphore(1, 100);
  const order: string[] = [];
  const leave = await gate.enter(LONG_MS, 'loud');
  const waiting = ['loud', 'loud', 'loud', 'loud', 'neighbour', 'third', 'loud', 'third'].map(async (entityId) => {
    const leaveNext = await gate.enter(LONG_MS, entityId);
    order.push(entityId);
    leaveNext();
  });
  leave();
  await Promise.all(waiting);
  expect(order).toEqual(['neighbour', 'third', 'loud', 'third', 'loud', 'loud', 'loud', 'loud']);
});

test('callers of one entity that fill the queue leave room for another entity', async () => {
  const gate = new Semaphore(1, 2);
  const leave = await gate.enter(LONG_MS, 'loud');
  const loud = [gate.enter(LONG_MS, 'loud'), gate.enter(LONG_MS, 'loud')];
  expect(await rejection(gate.enter(LONG_MS, 'loud'))).toBeInstanceOf(StoreUnavailableError);
  const neighbour = gate.enter(LONG_MS, 'neighbour');
  leave();
  for (const entered of [neighbour, ...loud]) (await entered)?.();
});

test('one caller more than may wait is rejected at once, and the waiting ones are not affected', async () => {
  const gate = new Semaphore(1, 1);
  const leave = await gate.enter(LONG_MS);
  const waiting = gate.enter(LONG_MS);
  expect(await rejection(gate.enter(LONG_MS))).toBeInstanceOf(StoreUnavailableError);
  leave();
  (await waiting)();
  expect(await gate.enter(LONG_MS)).toBeFunction();
});

test('a caller that has waited until the deadline is rejected and takes no slot afterwards', async () => {
  const gate = new Semaphore(1, 10);
  const leave = await gate.enter(LONG_MS);
  const late = gate.enter(5);
  const patient = gate.enter(LONG_MS);
  expect(await rejection(late)).toBeInstanceOf(StoreUnavailableError);
  leave();
  (await patient)();
  expect(await gate.enter(5)).toBeFunction();
});
