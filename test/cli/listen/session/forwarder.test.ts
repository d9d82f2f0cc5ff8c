import { expect, test } from 'bun:test';
import { Forwarder } from '../../../../src/cli/listen/session/forwarder.ts';
import { ProblemError } from '../../../../src/client/errors.ts';
import type { ListenRequest } from '../../../../src/contract/listen/listen-session.ts';
import { Ledger } from '../../../support/ledger.ts';
import { rejection } from '../../../support/rejection.ts';

const requestWith = (token: string): ListenRequest => {
  const headers = { 'content-type': 'application/json', 'webhook-id': 'dlv_1', 'paybell-event-id': 'evt_1' };
  return { deliveryId: 'dlv_1', token, attempt: 1, headers, body: '{}' };
};

function refusal(status: number): ProblemError {
  return new ProblemError({ type: 'x', title: 'x', status, detail: 'x', code: 'unavailable', requestId: 'x' }, null);
}

/** Each token is reported with its response, or with success. */
function reporting(responses: Readonly<Record<string, () => Promise<void>>>) {
  const reported: string[] = [];
  const report = async (_sessionId: string, { token }: { token: string }) => {
    reported.push(token);
    await responses[token]?.();
  };
  return { reported, client: { listenSessions: { report } } as never };
}

test('a request is not sent twice if its token was refused before the new one arrived', async () => {
  await using program = new Ledger();
  const { reported, client } = reporting({ first: () => Promise.reject(refusal(409)) });
  const forwarder = new Forwarder({ client, target: program.url(), onResult: () => undefined });
  await forwarder.forward('lst_1', requestWith('first'));
  await forwarder.forward('lst_1', requestWith('second'));
  expect(reported).toEqual(['first', 'second']);
  expect(program.requests).toHaveLength(1);
});

test('a request is not sent twice if the new token arrives while the result is on its way', async () => {
  await using program = new Ledger();
  const arrived = Promise.withResolvers<void>();
  const refuse = async () => {
    await arrived.promise;
    throw refusal(409);
  };
  const { reported, client } = reporting({ first: refuse });
  const forwarder = new Forwarder({ client, target: program.url(), onResult: () => undefined });
  const first = forwarder.forward('lst_1', requestWith('first'));
  const second = forwarder.forward('lst_1', requestWith('second'));
  arrived.resolve();
  await Promise.all([first, second]);
  expect(reported.toSorted()).toEqual(['first', 'second']);
  expect(program.requests).toHaveLength(1);
});

test('what could not be reported is reported when it is handed out again', async () => {
  await using program = new Ledger();
  const { reported, client } = reporting({ first: () => Promise.reject(refusal(503)) });
  const forwarder = new Forwarder({ client, target: program.url(), onResult: () => undefined });
  expect(await rejection(forwarder.forward('lst_1', requestWith('first')))).toBeInstanceOf(ProblemError);
  await forwarder.forward('lst_1', requestWith('second'));
  expect(reported).toEqual(['first', 'second']);
  expect(program.requests).toHaveLength(1);
});
