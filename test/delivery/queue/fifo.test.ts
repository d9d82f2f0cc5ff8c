import { expect, test } from 'bun:test';
import { Fifo } from '../../../src/delivery/queue/fifo.ts';

test('a queue gives its items in their order, however they come and go', () => {
  const fifo = new Fifo<number>();
  let [pushed, shifted] = [0, 0];
  for (let round = 0; round < 200; round++) {
    for (let count = 0; count < (round % 7) + 3; count++) fifo.push(pushed++);
    for (let count = 0; count < (round % 11) + 1 && fifo.length > 0; count++) {
      expect(fifo.first).toBe(shifted);
      expect(fifo.shift()).toBe(shifted++);
    }
    expect(fifo.length).toBe(pushed - shifted);
  }
  expect(fifo.takeAll()).toEqual(Array.from({ length: pushed - shifted }, (_, index) => shifted + index));
  expect([fifo.length, fifo.first, fifo.shift()]).toEqual([0, undefined, undefined]);
});
