import type { Config } from '../../config.ts';
import { headersFor } from '../../delivery/attempt.ts';
import { createSender } from '../../delivery/sender.ts';
import { isSuccess } from '../../domain/attempt.ts';
import { makeSecret, parseKeys } from '../../domain/signing.ts';
import { randomBytes } from '../../store/new-id.ts';
import { VerificationError } from '../../verify/verification-error.ts';
import { verify } from '../../verify/verify.ts';
import { version } from '../../version.ts';
import { type Finding, fault, ok } from './finding.ts';

/** A real post over a real socket to a receiver of our own, which checks the signature as any receiver would. */
export async function checkLoopbackDelivery(config: Config): Promise<Finding> {
  const secret = makeSecret(randomBytes(32));
  const body = JSON.stringify({ event: 'LatePayment', networkId: 1, from: 'paybell doctor' });
  const nowS = Math.floor(Date.now() / 1000);
  let signature = 'nothing arrived';
  const receiver = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      signature = await verifiedAs(request.headers, await request.text(), secret, nowS);
      return new Response(null, { status: signature === 'ok' ? 204 : 400 });
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
    const outcome = await sender.send({ postUrl, headers: headersFor(signed), body });
    if (isSuccess(outcome)) return ok('loopback delivery', `signed, received and verified in ${outcome.durationMs} ms`);
    const reason = outcome.kind === 'error' ? outcome.error : `the signature was taken as ${signature}`;
    const mend = 'Look for a firewall, a proxy or a sandbox that keeps this process from connecting to 127.0.0.1.';
    return fault('loopback delivery', `it did not arrive: ${reason}`, mend);
  } finally {
    await receiver.stop(true);
  }
}

async function verifiedAs(headers: Headers, body: string, secret: string, nowS: number): Promise<string> {
  try {
    await verify(body, headers, secret, { nowS });
    return 'ok';
  } catch (error) {
    if (error instanceof VerificationError) return error.reason;
    throw error;
  }
}
