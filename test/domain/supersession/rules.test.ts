import { describe, expect, test } from 'bun:test';
import { EVENT_KINDS } from '../../../src/domain/event-kinds.ts';
import { hasRole, readSubject, roleOf } from '../../../src/domain/supersession/rules.ts';

const SUBJECTS = { agreementId: 'agr', transferId: 'trf' };

describe('the rules of supersession', () => {
  test('a transfer supersedes the reminder of the same transfer, also one that comes later', () => {
    const subject = 'transferId trf';
    const superseded = 'LatePayment';
    expect(roleOf('LatePayment', SUBJECTS)).toEqual({ subject, kind: 'superseded', superseded, onArrival: true });
    for (const event of ['TransferProcessed', 'TransferFinalized']) {
      expect(roleOf(event, SUBJECTS)).toEqual({ subject, kind: 'supersedes', superseded, onArrival: true });
    }
  });

  test('a cancellation supersedes what had been scheduled for the agreement, and nothing that is scheduled later', () => {
    const subject = 'agreementId agr';
    const superseded = 'ScheduledAgreementCancel';
    expect(roleOf('ScheduledAgreementCancel', SUBJECTS)).toEqual({
      subject,
      kind: 'superseded',
      superseded,
      onArrival: false,
    });
    expect(roleOf('AgreementCancelled', SUBJECTS)).toEqual({
      subject,
      kind: 'supersedes',
      superseded,
      onArrival: false,
    });
  });

  test('are about no other kind, and about no event that does not say what it is about', () => {
    const without = EVENT_KINDS.filter((event) => roleOf(event, SUBJECTS) === null);
    expect(without).toEqual(['AgreementSignedUp', 'TransferCreated']);
    expect(EVENT_KINDS.filter(hasRole)).toEqual(EVENT_KINDS.filter((event) => !without.includes(event)));
    for (const event of EVENT_KINDS) expect(roleOf(event, { agreementId: null, transferId: null })).toBeNull();
  });

  test('take a text of 1 to 128 characters without NUL as a subject and nothing else', () => {
    for (const value of ['a', 'x'.repeat(128)]) expect(readSubject(value)).toBe(value);
    for (const value of ['', 'x'.repeat(129), 'a\0b', 7, null, undefined, ['a'], { a: 1 }])
      expect(readSubject(value)).toBeNull();
  });
});
