import { expect, test } from 'bun:test';
import { changesOf } from '../../src/dashboard/views/settings/audit/changes.ts';

test('an entry of the audit log is told by its fields, before and after, without those that stayed the same', () => {
  const before = { postUrl: 'https://a.example', paused: false, name: null, event: 'LatePayment' };
  const after = {
    postUrl: 'https://b.example',
    permissions: ['keys:read', 'keys:write'],
    event: 'LatePayment',
    rateLimit: 5,
  };
  expect(changesOf({ before, after })).toEqual([
    { field: 'URL', before: 'https://a.example', after: 'https://b.example' },
    { field: 'Paused', before: 'no', after: null },
    { field: 'Permissions', before: null, after: 'keys:read, keys:write' },
    { field: 'Rate limit', before: null, after: '5' },
  ]);
  expect(changesOf({ before: null, after: { options: { finality: 'final', filter: null }, dateExpires: 9 } })).toEqual([
    { field: 'Options', before: null, after: 'Finality: final, Filter: none' },
    { field: 'Expires', before: null, after: { seconds: 9 } },
  ]);
  const registered = [
    { networkId: 1, event: 'LatePayment' },
    { networkId: 10, event: 'LatePayment' },
  ];
  expect(changesOf({ before: null, after: { registered } })[0]?.after).toBe(
    'Network: 1, Event: LatePayment; Network: 10, Event: LatePayment',
  );
  // What is not simple stays as the API has it.
  const filter = { amount: { min: '5' } };
  expect(changesOf({ before: null, after: { filter } })[0]?.after).toBe('{"amount":{"min":"5"}}');
  expect(changesOf({ before: null, after: null })).toEqual([]);
});
