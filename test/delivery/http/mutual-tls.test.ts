import { describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createSender, type SenderOptions } from '../../../src/delivery/sender.ts';
import { clientCertificate } from '../../../src/domain/endpoints/client-certificate.ts';
import { OK, startTlsReceiver } from '../receivers.ts';
import { type Certificate, makeAuthority } from './certificates.ts';
import { startProxy } from './connect-proxy.ts';

const POST = { entityId: 'ent_1', headers: {}, body: '{}' };
const authority = makeAuthority('Paybell Test');
const one = issued('one.test');
const two = issued('two.test');

function issued(name: string) {
  const { cert, key } = authority.issue([name]);
  return clientCertificate({ certificate: cert, privateKey: key }, Number.MAX_SAFE_INTEGER);
}

function newSender(options: Partial<SenderOptions> = {}) {
  const common = { timeoutMs: 60_000, allowInsecureTargets: true, userAgent: 'Paybell/test', extraCa: authority.cert };
  return createSender({ ...common, ...options });
}

/** A receiver that asks for a certificate of the authority, and notes whose it got. */
async function startAskingReceiver() {
  const seen: string[] = [];
  const { cert, key } = authority.issue(['127.0.0.1']);
  const options: Certificate & Record<string, unknown> = { cert, key, ca: authority.cert, requestCert: true };
  const receiver = await startTlsReceiver(options, (socket: Socket) => {
    seen.push(String((socket as TLSSocket).getPeerCertificate().subject.CN));
    socket.write(OK);
  });
  return Object.assign(receiver, { seen, postUrl: `https://127.0.0.1:${receiver.port}/` });
}

describe('with mutual TLS', () => {
  test('a connection shows its certificate, and serves no request with another one or of another entity', async () => {
    await using receiver = await startAskingReceiver();
    const { postUrl } = receiver;
    const sender = newSender();
    for (const certificate of [one, two, one]) {
      expect(await sender.send({ ...POST, certificate, postUrl })).toMatchObject({ statusCode: 200 });
    }
    expect(receiver.seen).toEqual(['one.test', 'two.test', 'one.test']);
    await sender.send({ ...POST, certificate: one, postUrl, entityId: 'ent_2' });
    expect(receiver.seen).toHaveLength(4);
    // One for each of the two certificates, and one of the other entity.
    expect(receiver.connections).toBe(3);
    expect(await sender.send({ ...POST, postUrl })).toMatchObject({ error: expect.stringMatching(/^(tls|reset)$/) });
    expect(receiver.seen).toHaveLength(4);
  });

  test('a connection through a proxy shows it to the receiver', async () => {
    await using receiver = await startAskingReceiver();
    await using proxy = await startProxy({ port: receiver.port });
    const sender = newSender({ proxy: proxy.setting });
    const outcome = await sender.send({ ...POST, certificate: one, postUrl: receiver.postUrl });
    expect(outcome).toMatchObject({ kind: 'response', statusCode: 200 });
    expect(receiver.seen).toEqual(['one.test']);
    expect(proxy.received).not.toContain('one.test');
  });

  test('a certificate that cannot be used is a failed attempt', async () => {
    await using receiver = await startAskingReceiver();
    const certificate = { ...one, id: 'broken', privateKey: two.privateKey };
    const outcome = await newSender().send({ ...POST, certificate, postUrl: receiver.postUrl });
    expect(outcome).toMatchObject({ kind: 'error' });
    expect(receiver.connections).toBe(0);
  });
});
