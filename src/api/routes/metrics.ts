import { timingSafeEqual } from 'node:crypto';
import { Problem } from '../../contract/problems.ts';
import { isLoopbackAddress } from '../../domain/ip-address.ts';
import { hashApiKey } from '../../domain/keys/api-keys.ts';
import { METRICS_CONTENT_TYPE } from '../../metrics/registry.ts';
import { failed } from '../auth/authenticate.ts';
import type { ApiContext, RequestState } from '../context.ts';

/** Headers with which a proxy marks a forwarded request. */
const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded', 'x-real-ip'];

/** Serves the metrics to the holder of METRICS_TOKEN or, without that setting, to clients on this machine. */
export async function metrics(context: ApiContext, state: RequestState, request: Request): Promise<Response> {
  const isOpen = context.config.METRICS_TOKEN === undefined && isLocal(state, request.headers);
  if (!isOpen) requireToken(context, state, request.headers);
  const headers = { 'content-type': METRICS_CONTENT_TYPE, 'cache-control': 'no-store' };
  return new Response(await context.metricsText(), { headers });
}

/** A forwarded request is not local, even if the proxy is on this machine and not in TRUST_PROXY. */
function isLocal({ clientAddress }: RequestState, headers: Headers): boolean {
  if (FORWARDING_HEADERS.some((name) => headers.has(name))) return false;
  const address = clientAddress();
  return address !== null && isLoopbackAddress(address);
}

function requireToken(context: ApiContext, state: RequestState, headers: Headers): void {
  const token = /^Bearer ([\x21-\x7e]+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? '';
  const tokenHash = hashApiKey(token);
  const { METRICS_TOKEN } = context.config;
  const expected = METRICS_TOKEN === undefined ? null : Buffer.from(hashApiKey(METRICS_TOKEN));
  if (expected !== null && timingSafeEqual(Buffer.from(tokenHash), expected)) {
    context.limits.admitOperator(state.clientAddress, tokenHash);
    return;
  }
  const detail =
    expected === null
      ? 'Send the request from the same machine without a proxy, or set METRICS_TOKEN.'
      : 'Send METRICS_TOKEN as authorization: Bearer.';
  const message = 'must be Bearer, followed by the METRICS_TOKEN of the settings';
  const problem = new Problem('unauthenticated', detail, {
    errors: [{ in: 'header', name: 'authorization', message }],
    headers: { 'www-authenticate': 'Bearer realm="paybell metrics"' },
  });
  throw failed(context, state, problem);
}
