import { expect, test } from 'bun:test';
import { StoreUnavailableError } from '../../../src/store/database/database.ts';
import { explainFileError, openDatabase } from '../../../src/store/database/open.ts';
import { WriteHealth, type WriteProblem } from '../../../src/store/database/write-health.ts';
import { rejection } from '../../support/rejection.ts';

const FULL = new StoreUnavailableError('the disk is full: cannot write data/paybell.db', { reason: 'disk_full' });

test('a full disk is reported once, until a write succeeds long enough after the last failure', () => {
  let nowMs = 0;
  const changes: (WriteProblem | null)[] = [];
  const health = new WriteHealth(() => nowMs);
  health.onChange = (problem) => changes.push(problem);
  health.noteSuccess();
  health.noteFailure(new StoreUnavailableError('SQLITE_BUSY'));
  health.noteFailure(new Error('a constraint'));
  expect([health.problem, changes]).toEqual([null, []]);
  health.noteFailure(FULL);
  health.noteSuccess();
  nowMs = 15_000;
  health.noteFailure(FULL);
  nowMs = 30_000;
  health.noteSuccess();
  expect(health.problem).toEqual({ reason: 'disk_full', message: FULL.message });
  expect(changes).toEqual([{ reason: 'disk_full', message: FULL.message }]);
  nowMs = 35_000;
  health.noteSuccess();
  expect([health.problem, changes.length, changes.at(-1)]).toEqual([null, 2, null]);
});

const FINE = { isWritable: true, freeBytes: 2 ** 30 };
const coded = (code: string) => Object.assign(new Error('x'), { code });

test.each([
  ['SQLITE_FULL', FINE, 'disk_full', 'the disk is full: cannot write data/paybell.db (SQLITE_FULL)'],
  ['ENOSPC', FINE, 'disk_full', 'the disk is full: cannot write data/paybell.db (ENOSPC)'],
  [
    'SQLITE_IOERR_SHMSIZE',
    { ...FINE, freeBytes: 0 },
    'disk_full',
    'the disk is full: cannot write data/paybell.db (SQLITE_IOERR_SHMSIZE)',
  ],
  ['EROFS', FINE, 'read_only', 'data/paybell.db or its folder is not writable (EROFS)'],
  [
    'SQLITE_CANTOPEN',
    { ...FINE, isWritable: false },
    'read_only',
    'data/paybell.db or its folder is not writable (SQLITE_CANTOPEN)',
  ],
  ['SQLITE_CANTOPEN', FINE, 'no_answer', 'data/paybell.db cannot be opened (SQLITE_CANTOPEN)'],
] as const)('an open that fails with %s names the file and the reason', (code, state, reason, message) => {
  expect(explainFileError(coded(code), 'data/paybell.db', state)).toMatchObject({ reason, message });
});

test('an open of PostgreSQL that fails names the server, and no password', async () => {
  const target = { engine: 'postgres', url: 'postgres://user:a-password@127.0.0.1:1/paybell' } as const;
  const error = await rejection(openDatabase(target));
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect(String(error)).toContain('; DATABASE_URL names 127.0.0.1:1');
  expect(String(error)).not.toContain('a-password');
});
