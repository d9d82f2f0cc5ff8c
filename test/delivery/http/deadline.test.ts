import { expect, jest, test } from 'bun:test';
import { Deadline, Deadlines } from '../../../src/delivery/http/deadline.ts';
import { rejection } from '../../support/rejection.ts';
import { until } from '../../support/until.ts';

const TIMEOUT = { error: 'timeout' };

test('a deadline calls the last watcher only, and none after unwatch', () => {
  const deadline = new Deadline(0);
  const [first, second] = [jest.fn(), jest.fn()];
  deadline.watch(first);
  deadline.watch(second);
  deadline.expire();
  expect(first).not.toHaveBeenCalled();
  expect(second.mock.calls).toMatchObject([[TIMEOUT]]);

  const left = new Deadline(0);
  left.watch(first);
  left.unwatch();
  left.expire();
  expect(first).not.toHaveBeenCalled();
});

test('a watcher of a deadline that is reached is called at once', async () => {
  const deadline = new Deadline(0);
  deadline.expire();
  const called = jest.fn();
  deadline.watch(called);
  expect(called.mock.calls).toMatchObject([[TIMEOUT]]);
  expect(await rejection(deadline.within(new Promise(() => undefined)))).toMatchObject(TIMEOUT);
});

test('shared work goes on for the others when one deadline is reached', async () => {
  const shared = Promise.withResolvers<string>();
  const [late, patient] = [new Deadline(0), new Deadline(0)];
  const [leaving, staying] = [late.within(shared.promise), patient.within(shared.promise)];
  late.expire();
  expect(await rejection(leaving)).toMatchObject(TIMEOUT);
  shared.resolve('found');
  expect(await staying).toBe('found');
  expect(await rejection(patient.within(Promise.reject(new Error('broken'))))).toMatchObject({ message: 'broken' });
});

test('deadlines of one length expire in their order, and those that are cleared do not', async () => {
  const deadlines = new Deadlines(20);
  const ended: string[] = [];
  const start = (name: string) => {
    const deadline = deadlines.start();
    deadline.watch(() => ended.push(name));
    return deadline;
  };
  start('one');
  const inTime = start('in time');
  deadlines.clear(inTime);
  expect(ended).toEqual([]);
  await Bun.sleep(10);
  start('two');
  await until('both are over', () => ended.length === 2);
  expect(ended).toEqual(['one', 'two']);
  expect(inTime.isReached).toBe(false);
});

test('a deadline that starts while others expire has its own time', async () => {
  const deadlines = new Deadlines(20);
  const chained = Promise.withResolvers<number>();
  const startedAtMs = performance.now();
  deadlines.start().watch(() => deadlines.start().watch(() => chained.resolve(performance.now() - startedAtMs)));
  expect(await chained.promise).toBeGreaterThanOrEqual(39);
});
