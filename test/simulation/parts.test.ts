import { describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempBase } from '../support/temp-base.ts';
import { generate } from './generate.ts';
import type { SeedResult } from './job.ts';
import { History } from './model/history.ts';
import { type EventModel, Model } from './model/model.ts';
import { readOptions, UsageError } from './options.ts';
import { ResultFile } from './results.ts';
import { shrink } from './shrink.ts';
import { Random } from './world/random.ts';

const SETTING = { network: 'evm', operations: 120, engine: 'sqlite', instances: null };

function resultOf(seed: number): SeedResult {
  return {
    ...{ seed, hash: 'abc', violations: [], checked: {}, occurred: {}, pairs: {}, unexpected: [] },
    ...{ operations: 120, receipts: 1, virtualMs: 1, realMs: 1 },
  };
}

test('shrinking finds the items that a failure needs, wherever they are', async () => {
  const needed = [3, 17, 18, 90];
  const list = Array.from({ length: 120 }, (_, index) => index);
  const fails = async (fewer: readonly number[]) => needed.every((one) => fewer.includes(one));
  expect(await shrink(list, fails)).toEqual(needed);
});

test('a list of operations begins with the shorter one of the same seed, and differs from that of another seed', () => {
  const begin = () => null;
  const actions = { often: { weight: 3, begin }, rarely: { weight: 1, begin } };
  const long = generate(7, 60, actions);
  expect(generate(7, 20, actions)).toEqual(long.slice(0, 20));
  expect(generate(8, 60, actions)).not.toEqual(long);
  expect(new Set(long.map(({ name }) => name))).toEqual(new Set(['often', 'rarely']));
});

test('an event that is published again supersedes others only if retention may have removed it', () => {
  const eventOf = (event: string, startMs: number): EventModel => ({
    ...{ eventId: event, event, body: '', amount: 0, agreementId: 'agreement-1', payment: null, retraction: null },
    ...{ acceptance: { startMs, endMs: startMs + 1 }, repetitions: [] },
  });
  const [cancelled, scheduled] = [eventOf('AgreementCancelled', 10), eventOf('ScheduledAgreementCancel', 20)];
  const model = new Model();
  model.events.push(cancelled, scheduled);
  cancelled.repetitions.push({ startMs: 30, endMs: 31 });
  expect(model.mayBeSuperseded(scheduled)).toBeFalse();
  model.retentions.push({ startMs: 25, endMs: 26 });
  expect(model.mayBeSuperseded(scheduled)).toBeTrue();
});

test('random numbers are the same for the same seed and spread evenly', () => {
  const numbersOf = (seed: number) => {
    const random = new Random(seed);
    return Array.from({ length: 10_000 }, () => random.below(10));
  };
  expect(numbersOf(5)).toEqual(numbersOf(5));
  const counts = Map.groupBy(numbersOf(5), (one) => one);
  for (let digit = 0; digit < 10; digit++) expect(counts.get(digit)?.length ?? 0).toBeWithin(800, 1_200);
});

describe('a file of results', () => {
  const inFile = (check: (path: string) => void) => {
    const folder = mkdtempSync(join(tempBase(), 'paybell-results-'));
    check(join(folder, 'results.json'));
    rmSync(folder, { recursive: true });
  };

  test('has the results of the runs before', () =>
    inFile((path) => {
      new ResultFile(path, SETTING).add(resultOf(1));
      new ResultFile(path, SETTING).add(resultOf(2));
      expect(new ResultFile(path, SETTING).known).toEqual([resultOf(1), resultOf(2)]);
    }));

  test('loses nothing but the line that was being written when the run was stopped', () =>
    inFile((path) => {
      new ResultFile(path, SETTING).add(resultOf(1));
      writeFileSync(path, '{"seed":2,"ha', { flag: 'a' });
      new ResultFile(path, SETTING).add(resultOf(3));
      expect(new ResultFile(path, SETTING).known.map(({ seed }) => seed)).toEqual([1, 3]);
    }));

  test('has no result of a seed that came to no verdict', () =>
    inFile((path) => {
      new ResultFile(path, SETTING).add({ seed: 1, failure: 'stands still' });
      expect(new ResultFile(path, SETTING).known).toEqual([]);
    }));

  test('rejects results of another setting', () =>
    inFile((path) => {
      new ResultFile(path, SETTING).add(resultOf(1));
      expect(() => new ResultFile(path, { ...SETTING, operations: 60 })).toThrow('another setting');
    }));
});

describe('the options of the command', () => {
  test('are a range of seeds, or one seed', () => {
    expect(readOptions(['--seeds', '3..5']).seeds).toEqual([3, 4, 5]);
    expect(readOptions(['--seed', '13', '--only', '4,8', '--shrink', '--trace'])).toMatchObject({
      ...{ seeds: [13], only: [4, 8], shrinks: 'first', isTraced: true, operations: 120, engine: 'sqlite' },
    });
    expect(readOptions(['--seed', '13', '--shrink', 'L5']).shrinks).toBe('L5');
    expect(readOptions(['--stop', '--shrink', 'L5'])).toMatchObject({ stopsAt: 'first', shrinks: 'L5' });
  });

  test('reject numbers, engines and names that do not exist', () => {
    for (const args of [
      ['--seeds', '5..3'],
      ['--seed', 'x'],
      ['--engine', 'mysql'],
      ['--network', 'bitcoin'],
      ['--sead', '1'],
    ]) {
      expect(() => readOptions(args)).toThrow(UsageError);
    }
  });
});

describe('the history of a setting', () => {
  const changed = (...changes: readonly [value: string, startMs: number, endMs: number][]) => {
    const history = new History('first');
    for (const [value, startMs, endMs] of changes) history.begin(value, startMs).endMs = endMs;
    return history;
  };

  test('is certain between answered changes, and uncertain during one', () => {
    const history = changed(['second', 10, 20]);
    expect(history.during(0, 9)).toBe('first');
    expect(history.during(5, 15)).toBeUndefined();
    expect(history.during(21, 99)).toBe('second');
  });

  test('stays uncertain after a change without an answer', () => {
    const history = changed(['second', 10, Number.POSITIVE_INFINITY]);
    expect(history.during(50, 60)).toBeUndefined();
    expect(history.possible(50, 60).toSorted()).toEqual(['first', 'second']);
  });

  test('does not know which of two concurrent changes was the last', () => {
    expect(changed(['second', 10, 20], ['third', 15, 18]).during(30, 40)).toBeUndefined();
    expect(changed(['second', 10, 12], ['third', 15, 18]).during(30, 40)).toBe('third');
  });
});
