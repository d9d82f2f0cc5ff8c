import { expect, test } from 'bun:test';
import type { Endpoint } from '../../src/client/endpoints.ts';
import { updateOf } from '../../src/dashboard/views/endpoints/settings-form.ts';

const ENDPOINT: Endpoint = {
  endpointId: 'ep_0f9c2a6e0b17d3',
  postUrl: 'https://example.com/hook',
  name: 'Billing',
  state: 'active',
  ordering: 'agreement',
  paused: false,
  headerNames: ['x-old'],
  clientCertificate: null,
  rateLimit: 50,
  secret: 'own',
  webhooks: 1,
  suspendedWebhooks: 0,
  waiting: 0,
  lastSequence: 0,
  dateFailingSince: null,
  lastStatusCode: null,
  lastError: null,
  dateCreated: 1_763_168_400,
};

const UNCHANGED = {
  name: 'Billing',
  ordering: 'agreement',
  rateLimit: '50',
  secret: 'own',
  headerName: '',
  headerValue: '',
};

function filledWith(fields: Record<string, string>, removed: readonly string[] = []): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...UNCHANGED, ...fields })) form.set(name, value);
  for (const name of removed) form.append('removedHeader', name);
  return form;
}

test('the form of an endpoint sends only what was changed', () => {
  expect(updateOf(ENDPOINT, filledWith({}))).toEqual({});
  expect(updateOf(ENDPOINT, filledWith({ name: ' ', rateLimit: '' }))).toEqual({ name: null, rateLimit: null });
  expect(updateOf(ENDPOINT, filledWith({ ordering: 'none', secret: 'entity' }))).toEqual({
    ordering: 'none',
    secret: 'entity',
  });
  expect(updateOf(ENDPOINT, filledWith({ headerName: 'X-New', headerValue: 'v' }, ['x-old']))).toEqual({
    headers: { 'x-old': null, 'X-New': 'v' },
  });
});

test('the form passes on what is no number, so that the server says what is wrong with it', () => {
  expect<unknown>(updateOf(ENDPOINT, filledWith({ rateLimit: 'many' }))).toEqual({ rateLimit: 'many' });
  expect(updateOf(ENDPOINT, filledWith({ rateLimit: '-1' }))).toEqual({ rateLimit: -1 });
});
