import { describe, expect, test } from 'bun:test';
import { DomainError, showCount } from '../../src/domain/errors.ts';

describe('the sentence of an error', () => {
  test('counts one thing in the singular', () => {
    expect(new DomainError('backlog_full', { waiting: 1, limit: 1 }).message).toStartWith(
      '1 delivery of this entity is waiting, and the limit is 1.',
    );
    expect(new DomainError('backlog_full', { waiting: 2, limit: 2 }).message).toStartWith(
      '2 deliveries of this entity are waiting, and the limit is 2.',
    );
    expect(new DomainError('entity_full', { webhooks: 2, limit: 1 }).message).toStartWith(
      'An entity has at most 1 webhook, and this request would make it 2.',
    );
  });

  test.each([
    [0, '0 deliveries'],
    [1, '1 delivery'],
    [2, '2 deliveries'],
  ])('shows %d as %s', (count, shown) => {
    expect(showCount(count, 'delivery', 'deliveries')).toBe(shown);
  });
});
