import { connect, createServer } from 'node:net';
import { describeProxy, type EgressProxy } from '../../config/egress.ts';
import type { Config } from '../../config.ts';
import { showCount } from '../../domain/errors.ts';
import type { Database } from '../../store/database/database.ts';
import { readExpiring } from '../../store/endpoints/certificates/expiring.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const WARN_BEFORE_S = 14 * 86_400;
const CERTIFICATES_SHOWN = 5;

/** Whether deliveries can leave this machine with the settings EGRESS_BIND and EGRESS_PROXY. */
export async function* checkEgress({ EGRESS_BIND: source, EGRESS_PROXY: proxy }: Config): AsyncGenerator<Finding> {
  if (source !== undefined) {
    const code = await bindError(source);
    const fix = 'Give this machine the address, or set EGRESS_BIND to one that it has. No delivery leaves until then.';
    yield code === null
      ? ok('source address', `${source} belongs to this machine`)
      : failure('source address', `EGRESS_BIND ${source} cannot be used here (${code})`, fix);
  }
  if (proxy !== undefined) {
    const code = await connectError(proxy, source);
    const fix =
      'Check EGRESS_PROXY, that the proxy runs, and that this machine may reach it. No delivery leaves until then.';
    yield code === null
      ? ok('outgoing proxy', `${describeProxy(proxy)} accepts connections`)
      : failure('outgoing proxy', `${describeProxy(proxy)} cannot be reached (${code})`, fix);
  }
}

function bindError(address: string): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const server = createServer();
  server.on('error', (error) => resolve(codeOf(error)));
  server.listen(0, address, () => server.close(() => resolve(null)));
  return promise;
}

function connectError({ host, port }: EgressProxy, source: string | undefined): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const socket = connect({ host, port, ...(source !== undefined && { localAddress: source }) });
  const timer = setTimeout(() => resolve('ETIMEDOUT'), CONNECT_TIMEOUT_MS);
  socket.on('connect', () => resolve(null)).on('error', (error) => resolve(codeOf(error)));
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.message;
}

/** Client certificates of endpoints that have expired or will expire soon. Null if no endpoint has a certificate. */
export async function checkCertificates(db: Database): Promise<Finding | null> {
  const nowS = Math.floor(Date.now() / 1000);
  const { total, expiring } = await readExpiring(db, nowS + WARN_BEFORE_S, CERTIFICATES_SHOWN);
  if (total === 0) return null;
  const [first] = expiring;
  if (first === undefined) return ok('certificates', `${showCount(total, 'client certificate')}, none expires soon`);
  const named = expiring.map(({ entityId, subject, dateExpires }) => {
    const date = new Date(dateExpires * 1000).toISOString().slice(0, 10);
    return `${subject} of ${entityId} (${dateExpires <= nowS ? 'expired' : 'expires'} ${date})`;
  });
  const hasExpired = first.dateExpires <= nowS;
  const found = `client certificates that ${hasExpired ? 'have expired or soon will' : 'expire within two weeks'}: ${named.join(', ')}`;
  const fix =
    'Ask the entity to set a new one with "endpoints certificate"; with one that has expired, nothing is sent.';
  return warning('certificates', found, fix);
}
