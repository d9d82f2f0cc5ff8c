import { describe, expect, test } from 'bun:test';
import { storeProblem } from '../../../src/api/http/store-errors.ts';
import { DomainError } from '../../../src/domain/errors.ts';
import { StoreUnavailableError } from '../../../src/store/database/database.ts';
import { SecretKeyError } from '../../../src/store/tenants/secret-box.ts';

describe('an error of the store', () => {
  test('is a problem with the sentence of the error', () => {
    const error = new DomainError('event_conflict', { eventId: 'evt_1' });
    expect(storeProblem(error)).toMatchObject({
      code: 'event_conflict',
      status: 409,
      detail: 'The event evt_1 was accepted before with a different body.',
      extra: {},
    });
  });

  test('names the header that the client sent, where HTTP has words of its own', () => {
    const problem = storeProblem(new DomainError('webhook_changed', { webhookId: 'wh_1' }));
    expect(problem).toMatchObject({ code: 'precondition_failed', status: 412 });
    expect(problem?.detail).toContain('If-Match');
  });

  test('says when to try again, where that helps', () => {
    const retryAfter = (error: Error) => storeProblem(error)?.extra.headers?.['retry-after'];
    expect(retryAfter(new DomainError('backlog_full', { waiting: 3, limit: 3 }))).toBe('60');
    expect(retryAfter(new DomainError('storage_full', { storedBytes: 9, limitBytes: 9 }))).toBe('3600');
    expect(retryAfter(new DomainError('event_just_removed', { eventId: 'evt_1' }))).toBe('1');
    expect(retryAfter(new StoreUnavailableError('SQLITE_FULL'))).toBe('2');
    expect(retryAfter(new SecretKeyError('does not open'))).toBe('2');
    expect(retryAfter(new DomainError('event_conflict', { eventId: 'evt_1' }))).toBeUndefined();
  });

  test('that is about an input names it', () => {
    expect(storeProblem(new DomainError('page_too_large', { bytes: 9, limitBytes: 8 }))).toMatchObject({
      code: 'invalid_request',
      extra: {
        errors: [{ in: 'query', name: 'limit', message: expect.stringContaining('9 bytes, and the limit is 8') }],
      },
    });
    expect(storeProblem(new DomainError('page_too_deep', { limit: 8 }))).toMatchObject({
      code: 'invalid_request',
      extra: { errors: [{ in: 'query', name: 'page', message: expect.stringContaining('narrow since and until') }] },
    });
  });

  test('keeps what only the operator may know to itself', () => {
    expect(storeProblem(new StoreUnavailableError('SQLITE_FULL'))?.detail).not.toContain('SQLITE');
    expect(storeProblem(new SecretKeyError('the key file /var/key'))?.detail).not.toContain('/var');
  });

  test('is nothing that the store did not throw', () => {
    expect(storeProblem(new TypeError('undefined is not a function'))).toBeNull();
  });
});
