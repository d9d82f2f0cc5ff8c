import type { Config } from '../../config.ts';
import { attemptErrorText } from '../../contract/attempt-error-text.ts';
import { headersFor } from '../../delivery/attempt.ts';
import { createSender } from '../../delivery/sender.ts';
import { isSuccess } from '../../domain/attempt.ts';
import { makeSecret, parseKeys } from '../../domain/signing.ts';
import { randomBytes } from '../../store/new-id.ts';
import { VerificationError } from '../../verify/verification-error.ts';
import { verify } from '../../verify/verify.ts';
import { version } from '../../version.ts';
import { type Finding, failure, ok } from './finding.ts';

/** Sends a signed request through the real HTTP client to a receiver in this process, which verifies it. */
export async function checkLoopbackDelivery(config: Config): Promise<Finding> {
  const secret = makeSecret(randomBytes(32));
  const body = JSON.stringify({ event: 'LatePayment', networkId: 1, from: 'paybell doctor' });
  const nowS = Math.floor(Date.now() / 1000);
  let verification = 'no request arrived';
  const receiver = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      verification = await verificationOf(request.headers, await request.text(), secret, nowS);
      return new Response(null, { status: verification === 'verified' ? 204 : 400 });
    },
  });
  try {
    const sender = createSender({
      timeoutMs: config.DELIVERY_TIMEOUT,
      allowInsecureTargets: true,
      userAgent: `Paybell/${version}`,
      ...(config.EXTRA_CA_FILE !== undefined && { extraCa: config.EXTRA_CA_FILE }),
    });
    const signed = { deliveryId: 'dlv_doctor', eventId: 'evt_doctor', body, keys: parseKeys([secret]), nowS };
    const postUrl = `http://127.0.0.1:${receiver.port}/`;
    const outcome = await sender.send({ entityId: 'doctor', postUrl, headers: headersFor(signed), body });
    if (isSuccess(outcome)) return ok('loopback delivery', `signed, received and verified in ${outcome.durationMs} ms`);
    const reason =
      outcome.kind === 'error' ? attemptErrorText(outcome.error) : `the signature check said ${verification}`;
    const fix = 'Check for a firewall, a proxy or a sandbox that keeps this process from connecting to 127.0.0.1.';
    return failure('loopback delivery', `the delivery failed: ${reason}`, fix);
  } finally {
    await receiver.stop(true);
  }
}

async function verificationOf(headers: Headers, body: string, secret: string, nowS: number): Promise<string> {
  try {
    await verify(body, headers, secret, { nowS });
    return 'verified';
  } catch (error) {
    if (error instanceof VerificationError) return error.reason;
    throw error;
  }
}
